// A client whose threshold routine is off by one, built from the sources with that one change, refuses every survey.

import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { test } from "node:test";

const client = new URL("../", import.meta.url).pathname;
const tools = existsSync(`${client}node_modules/esbuild`);
const documents = JSON.parse(readFileSync(`${client}../tests/vectors/wire/documents.json`, "utf8"));

/** The client with every settled threshold moved by so much. */
async function built(off) {
  const { build } = await import("esbuild");
  const whole = "must(lower === upper, UNSETTLED, \"refused\");\n  return lower;";
  const change = {
    name: "off by one",
    setup: (made) =>
      made.onLoad({ filter: /exact\.ts$/ }, ({ path }) => {
        const text = readFileSync(path, "utf8");
        assert.ok(text.includes(whole));
        return { contents: text.replace(whole, whole.replace("return lower;", `return lower + ${off}n;`)), loader: "ts" };
      }),
  };
  const options = { bundle: true, format: "esm", target: "es2020", write: false, plugins: [change] };
  const { outputFiles } = await build({ ...options, entryPoints: [`${client}src/index.ts`] });
  return import(`data:text/javascript;base64,${Buffer.from(outputFiles[0].text).toString("base64")}`);
}

for (const off of [0, 1, -1])
  test(`a client whose thresholds are off by ${off}`, { skip: !tools && "esbuild is not installed" }, async () => {
    const { check } = await built(off);
    for (const { name, document, id } of documents) {
      if (off) await assert.rejects(check(document, id), /less privacy than it promises/, name);
      else assert.equal((await check(document, id)).id, id);
    }
  });
