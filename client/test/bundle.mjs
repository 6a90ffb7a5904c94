// The bundle that ships, or another module that is to pass the same vectors, by its path in `CLIENT`.

import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const shipped = new URL("../../src/deniable/service/static/survey.js", import.meta.url);
const place = process.env.CLIENT ? pathToFileURL(process.env.CLIENT) : shipped;

export const { canonical, check, encode, expBounds, linkDigits, mechanism, pageHash, parse, RecordedWords, Refusal, schema } = await import(place);
export const { SecureWords, sha256, terms, proved } = await import(place);
export const bundle = readFileSync(place);

/** A double as Python writes it: 1.0 and 1e-07. */
const repr = (x) => (x % 1 ? (x < 1e-4 ? x.toExponential().replace(/-(\d)$/, "-0$1") : `${x}`) : `${x}.0`);

/** JSON with learned probabilities as Python writes them. */
export const written = (value) =>
  JSON.stringify(value).replace(/"(copy_probabilities|priors)":\[\[.*?\]\]/g, (all) =>
    all.replace(/(?<=[[,])[\d.e-]+(?=[\],])/g, (one) => repr(Number(one))),
  );
