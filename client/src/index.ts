// What other pages import.

export { proved, Refusal } from "./exact.js";
export { canonical, parse, sha256 } from "./json.js";
export { mechanism } from "./records.js";
export { encode, schema } from "./schema.js";
export { check } from "./survey.js";
export { RecordedWords, SecureWords } from "./words.js";
