// Every kind of question by its file; written by `npm run build`.

import type { Kind } from "../kind.js";
import { kind as categories } from "./categories.js";
import { kind as dictionary } from "./dictionary.js";
import { kind as multiple } from "./multiple.js";
import { kind as numeric } from "./numeric.js";
import { kind as ordered } from "./ordered.js";
import { kind as text } from "./text.js";

export const KINDS: readonly Kind[] = [categories, dictionary, multiple, numeric, ordered, text];
