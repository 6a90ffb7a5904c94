// The example of docs/client.md runs as it stands there.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import * as client from "./bundle.mjs";

const read = (name) => readFileSync(new URL(`../../${name}`, import.meta.url), "utf8");

test("the example of the documentation makes a report", async () => {
  const [, code] = /```js\nimport \{ check, encode, SecureWords \} from "@deniable\/client";\n([^]*?)```/.exec(read("docs/client.md"));
  const { document, id } = JSON.parse(read("tests/vectors/wire/documents.json")).find(({ name }) => name === "SMP-kinds");
  const AsyncFunction = (async () => {}).constructor;
  const run = new AsyncFunction(
    ...["check", "encode", "SecureWords", "documentText", "id", "answers"],
    `${code}; return { report, attributes, reading };`,
  );
  const { check, encode, SecureWords } = client;
  const answers = ["2", "7.5", ["phone"], "0.1"];
  const { report, attributes, reading } = await run(check, encode, SecureWords, document, id, answers);
  assert.equal(report.length, 2);
  assert.equal(attributes.length, 1);
  assert.ok(reading.likely[0] * reading.unlikely[1] > reading.unlikely[0] * reading.likely[1]);
});
