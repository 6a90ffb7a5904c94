// What reports say: reads {mechanism, reports}, the reports in hexadecimal digits, from the standard input, and writes of
// each the attributes, the codes that it supports, and both chances.

import { readFileSync } from "node:fs";
import { mechanism, parse, written } from "./bundle.mjs";

const asked = JSON.parse(readFileSync(0, "utf8"));
const made = await mechanism(parse(written(asked.mechanism)));
const part = ({ attributes, reading }) => {
  const k = attributes.reduce((product, j) => product * Number(made.sizes[j]), 1);
  const supported = Array.from({ length: k }, (_, code) => code).filter((code) => reading.supports(BigInt(code)));
  return [attributes, supported, [reading.likely, reading.unlikely].map((one) => one.map(String))];
};
process.stdout.write(JSON.stringify(asked.reports.map((hex) => made.read(Uint8Array.from(Buffer.from(hex, "hex"))).map(part))));
