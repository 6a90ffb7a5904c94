// The npm package, for pages with a form of their own: load a survey, draw one report of answers, and send it until it is
// counted.

export { AnswerError } from "../src/answers.js";
export { draw, send } from "./client.js";
export type { Answer, Attribute } from "../src/kind.js";
export * from "../src/library.js";
export { load, type Loaded, type Place } from "../src/loading.js";
export type { Progress } from "../src/send.js";
export { kept, type Kept } from "../src/store.js";
export type { Survey } from "../src/survey.js";
export type { PageDocument } from "../src/terms.js";
