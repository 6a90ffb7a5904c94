// Reports of a mechanism from the browser's own generator, counted: what tests.client_law compares with the exact law.
//
// Reads {mechanism, schema?, answers, reports, values?} from the standard input. Writes how often each report was drawn, in
// hexadecimal digits; with values, how many reports speak for each of them instead.

import { readFileSync } from "node:fs";
import { encode, mechanism, parse, schema, SecureWords, written } from "./test/bundle.mjs";

const asked = JSON.parse(readFileSync(0, "utf8"));
const made = await mechanism(parse(written(asked.mechanism)));
const attributes = asked.schema && schema(parse(JSON.stringify(asked.schema)));
const words = new SecureWords();
const counts = new Map();
const values = asked.values?.map(BigInt);
const supports = values?.map(() => 0);
for (let i = 0; i < asked.reports; i++) {
  const codes = attributes ? encode(attributes, asked.answers, words) : asked.answers.map(BigInt);
  const report = made.randomize(codes, words);
  if (values) {
    const [{ reading }] = made.read(report);
    values.forEach((value, v) => (supports[v] += Number(reading.supports(value))));
  } else {
    const hex = Buffer.from(report).toString("hex");
    counts.set(hex, (counts.get(hex) ?? 0) + 1);
  }
}
process.stdout.write(JSON.stringify(values ? supports : Object.fromEntries(counts)));
