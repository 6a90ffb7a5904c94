// Reads page documents, a JSON list of texts, and writes their hashes.

import { readFileSync, writeFileSync } from "node:fs";
import { pageHash } from "./bundle.mjs";

const [from, to] = process.argv.slice(2);
const texts = JSON.parse(readFileSync(from, "utf8"));
writeFileSync(to, JSON.stringify(await Promise.all(texts.map(pageHash))));
