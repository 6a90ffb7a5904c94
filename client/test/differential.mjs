// Reads documents, one JSON object a line, and says of each whether the client takes it.

import { readFileSync, writeFileSync } from "node:fs";
import { check, Refusal, terms } from "./bundle.mjs";

const [from, to] = process.argv.slice(2);
const verdicts = [];
for (const line of readFileSync(from, "utf8").split("\n").filter(Boolean)) {
  const { document, page } = JSON.parse(line);
  try {
    const asked = /"id": ?"([0-9a-f]{64})"/.exec(document)?.[1] ?? "0".repeat(64);
    const survey = await check(document, asked);
    if (page) terms(page, survey);
    verdicts.push("taken");
  } catch (error) {
    verdicts.push(error instanceof Refusal ? "refused" : `${error}`);
  }
}
writeFileSync(to, JSON.stringify(verdicts));
