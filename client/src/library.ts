// The client without its page: check a survey, make a report of answers, read one.

export { expBounds, proved, Refusal } from "./exact.js";
export { canonical, parse, sha256 } from "./json.js";
export { mechanism } from "./records.js";
export { encode, schema } from "./schema.js";
export { check } from "./survey.js";
export { linkDigits, pageHash, terms } from "./terms.js";
export { RecordedWords, SecureWords } from "./words.js";
