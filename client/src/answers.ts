// This file turns answers into codes, for several kinds of questions. The rules are those of the library's
// `survey/encoding.py`.

import { must } from "./exact.js";
import { type Json, type Keys, plainNumber, texts } from "./json.js";
import type { Answer, Attribute, Own } from "./kind.js";

/** Thrown for an answer that the question does not have. It names the question, never the answer. */
export class AnswerError extends Error {
  constructor(
    readonly attribute: string,
    readonly reason: "missing" | "unknown" | "number" | "outside",
  ) {
    super(`The answer to "${attribute}" is ${reason === "missing" ? "missing" : "not one of the possible answers"}.`);
  }
}

export const distinct = (list: readonly unknown[]): boolean => new Set(list).size === list.length;
const increasing = (list: readonly (number | string)[]): boolean => list.every((one, i) => !i || list[i - 1]! < one);

const DECIMAL = /^-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?$/;
export const NOT_FINITE = /^[+-]?(nan|inf|infinity)$/i;
export const NUMBER = /^[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?$/;

/** The shortest form of a plain decimal number, undefined for any other text. */
export function canonicalDecimal(text: string): string | undefined {
  if (!DECIMAL.test(text)) return undefined;
  const short = text.includes(".") ? text.replace(/0+$/, "").replace(/\.$/, "") : text;
  return short === "-0" ? "0" : short;
}

/** Whether this is a day of the calendar, as in 2026-05-01. */
export function isDay(value: unknown): value is string {
  const text = value as string;
  return /^\d{4}-\d\d-\d\d$/.test(text) && text > "0001" && !!new Date(text).toJSON()?.startsWith(text);
}

/** The value of a key that is left out if it is the default. */
export function stated<T>(keys: Keys, key: string, usual: T): T {
  if (!keys.has(key)) return usual;
  const value = keys.take(key) as T;
  must(typeof value === typeof usual && value !== usual);
  return value;
}

/** A list of categories, with the cut points between them if there are any. */
export function list(keys: Keys): Own {
  const categories = texts(keys.list("categories"));
  const dated = (edge: Json): string | number => (typeof edge === "string" && isDay(edge) ? edge : plainNumber(edge));
  const edges = keys.has("edges") ? keys.list("edges").map(dated) : undefined;
  must(!edges || (edges.length && edges.length + 1 === categories.length && increasing(edges) && new Set(edges.map((one) => typeof one)).size === 1));
  return { categories, edges };
}

export const missingCode = (one: Attribute): number => {
  if (one.missing === undefined) throw new AnswerError(one.name, "missing");
  return one.categories.length;
};

export const otherCode = (one: Attribute): number => {
  if (one.other === undefined) throw new AnswerError(one.name, "unknown");
  return one.labels.length - 1;
};

/** The code of the label that equals a text; -1 if there is none. */
export const exactly = (one: Attribute, text: string): number => one.labels.indexOf(text);

/** The code of the label that equals a text, or of the only label that is the same number; -1 if there is none. */
export function labelled(one: Attribute, text: string): number {
  const exact = exactly(one, text);
  const number = canonicalDecimal(text);
  if (exact >= 0 || number === undefined) return exact;
  const same = one.labels.flatMap((label, code) => (canonicalDecimal(label) === number ? [code] : []));
  return same.length === 1 ? same[0]! : -1;
}

/** The labels of missing and other, and their codes. */
export const further = (one: Attribute): (readonly [string, number])[] => [
  ...(one.other === undefined ? [] : [[one.other, one.labels.length - 1] as const]),
  ...(one.missing === undefined ? [] : [[one.missing, one.categories.length] as const]),
];

/** The code of an answer out of a list, or of the interval that it is in; `find` looks a text up. */
export function listed(one: Attribute, answer: Answer, find = labelled): bigint[] {
  if (typeof answer === "number") {
    must(answer >= 0 && answer < one.labels.length);
    return [BigInt(answer)];
  }
  must(answer === null || typeof answer === "string");
  return [BigInt(one.edges ? interval(one, answer) : category(one, answer, find))];
}

function category(one: Attribute, answer: string | null, find: typeof labelled): number {
  if (answer === null || (answer === "" && !one.labels.includes(""))) return missingCode(one);
  const code = find(one, answer);
  return code < 0 ? otherCode(one) : code;
}

function interval(one: Attribute, answer: string | null): number {
  if (answer === null || answer === "") return missingCode(one);
  const dated = isDay(one.edges![0]);
  for (const [label, code] of further(one)) {
    const number = dated ? undefined : canonicalDecimal(label);
    if (answer === label || (number !== undefined && NUMBER.test(answer) && Number(answer) === Number(number))) return code;
  }
  if (dated) {
    // Only the day of a time counts, as the text has it.
    const day = answer.slice(0, 10);
    return isDay(day) && /^([T ]|$)/.test(answer.slice(10)) ? one.edges!.filter((edge) => edge <= day).length : otherCode(one);
  }
  if (NOT_FINITE.test(answer)) throw new AnswerError(one.name, "number");
  if (!NUMBER.test(answer)) return otherCode(one);
  const value = Number(answer);
  if (!Number.isFinite(value)) throw new AnswerError(one.name, "number");
  return one.edges!.filter((edge) => (edge as number) <= value).length;
}
