// What other pages import; a page with an element that has `data-collection` needs to import nothing.

import { mountAll } from "./page.js";

export { expBounds, proved, Refusal } from "./exact.js";
export { canonical, parse, sha256 } from "./json.js";
export { mount } from "./page.js";
export { mechanism } from "./records.js";
export { encode, schema } from "./schema.js";
export { check } from "./survey.js";
export { linkDigits, pageHash, terms } from "./terms.js";
export { RecordedWords, SecureWords } from "./words.js";

if (typeof document !== "undefined") mountAll();
