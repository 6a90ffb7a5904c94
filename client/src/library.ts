// The client without its page checks a survey, makes a report of answers, and reads a report.

export { expBounds, proved, Refusal } from "./exact.js";
export { canonical, parse, sha256 } from "./json.js";
export { mechanism } from "./records.js";
export { encode, schema } from "./schema.js";
export { check } from "./survey.js";
export { linkDigits, pageHash, terms } from "./terms.js";
export { RecordedWords, SecureWords } from "./words.js";
