// The bundle that ships, or another module that is to pass the same vectors, by its path in `CLIENT`.

import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const shipped = new URL("../../src/deniable/service/static/survey.js", import.meta.url);
const place = process.env.CLIENT ? pathToFileURL(process.env.CLIENT) : shipped;

export const { canonical, check, encode, expBounds, linkDigits, mechanism, pageHash, parse, RecordedWords, Refusal, schema } = await import(place);
export const { SecureWords, sha256, terms, proved } = await import(place);
export const bundle = readFileSync(place);
