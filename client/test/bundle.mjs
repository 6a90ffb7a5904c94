// The bundle that ships, by the name that it has today.

import { readFileSync } from "node:fs";

const place = new URL("../../src/deniable/service/static/", import.meta.url);
const { "survey.js": name } = JSON.parse(readFileSync(new URL("manifest.json", place), "utf8"));

export const { canonical, check, encode, mechanism, mount, parse, proved, RecordedWords, Refusal, schema, SecureWords, sha256 } =
  await import(new URL(name, place).href);
export const bundle = readFileSync(new URL(name, place));
