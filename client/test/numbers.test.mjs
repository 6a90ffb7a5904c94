// Numbers as people type them, in the language of the page: what is a sign of thousands in one is a decimal sign in another.

import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { test } from "node:test";

const client = new URL("../", import.meta.url).pathname;
const tools = existsSync(`${client}node_modules/esbuild`);

const TYPED = {
  en: [
    ["7.5", "7.5"],
    ["1,234", "1234"],
    ["1.234", "1.234"],
    ["1,234.5", "1234.5"],
    ["1.234,5", "1234.5"],
    ["12,34", "12.34"],
    ["1.234.567", "1234567"],
    ["1 234", "1234"],
    ["1٬234", "1234"],
    ["٧٫٥", "7.5"],
    ["+7", "7"],
    ["−7", "-7"],
    [".5", ".5"],
    ["1,23,4", undefined],
    ["1,234,5.6", undefined],
    ["1,2.3,4", undefined],
    ["1e5", undefined],
    ["7 years", undefined],
    ["", undefined],
  ],
  de: [
    ["7,5", "7.5"],
    ["1.234", "1234"],
    ["1,234", "1.234"],
    ["1.234,5", "1234.5"],
    ["1,234.5", "1234.5"],
    ["1'234", "1234"],
    ["12.34", "12.34"],
  ],
};

test("typed numbers", { skip: !tools && "esbuild is not installed" }, async () => {
  const { build } = await import("esbuild");
  const options = { bundle: true, format: "esm", target: "es2020", write: false };
  const { outputFiles } = await build({ ...options, entryPoints: [`${client}src/numbers.ts`] });
  const { Numerals } = await import(`data:text/javascript;base64,${Buffer.from(outputFiles[0].text).toString("base64")}`);
  for (const [language, typed] of Object.entries(TYPED)) {
    const found = typed.map(([text]) => [text, new Numerals(language).plain(text)]);
    assert.deepEqual(found, typed, language);
  }
  // A date that was typed is the same day west of Greenwich; the day of a time is the reader's.
  process.env.TZ = "America/New_York";
  assert.equal(new Numerals("en").day("2001-01-01"), "January 1, 2001");
  assert.equal(new Numerals("en").day("2001-01-01T00:00:00Z"), "December 31, 2000");
});
