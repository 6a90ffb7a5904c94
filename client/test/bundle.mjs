// The bundle that ships.

import { readFileSync } from "node:fs";

const place = new URL("../../src/deniable/service/static/survey.js", import.meta.url);

export * from "../../src/deniable/service/static/survey.js";
export const bundle = readFileSync(place);
