// The schema: what is asked, and which answer is which code. The rules are those of the library's `survey/encoding.py`.

import { decimalText, type Fraction, fraction, less, must, parseDecimal, plus, SCALE, times, toNumber } from "./exact.js";
import { type Json, Keys, plainNumber, sha256, texts } from "./json.js";
import type { Words } from "./words.js";

export type Kind = "categories" | "ordered" | "numeric" | "multiple";

/** The public grid of a numeric attribute. */
export interface Grid {
  readonly low: Fraction;
  readonly high: Fraction;
  readonly size: bigint;
  readonly clip: boolean;
}

/** One question. */
export interface Attribute {
  readonly name: string;
  readonly title: string;
  readonly kind: Kind;
  /** Labels of the categories, of the grid's points, of the boxes, or the words of the dictionary once they are loaded. */
  readonly categories: readonly string[];
  readonly missing: string | undefined;
  readonly other: string | undefined;
  /** Cut points: numbers, or days as "2026-05-01". */
  readonly edges: readonly (number | string)[] | undefined;
  readonly dictionary: { readonly k: number; readonly digest: string } | undefined;
  readonly grid: Grid | undefined;
  readonly separator: string;
  /** Categories, missing and other. */
  readonly labels: readonly string[];
  /** Domain sizes of the columns that it fills: one, or two values for every box. */
  readonly sizes: readonly bigint[];
  /** The names of those columns. */
  readonly columns: readonly string[];
  /** Whether documents of format version 1 can describe it. */
  readonly first: boolean;
}

/** Of a grid, as in the library. */
const POINTS = 1024;
const VERSION_2 = ["kind", "scores", "range", "grid", "clip", "ask", "separator", "title"];
const minus = (x: Fraction, y: Fraction): Fraction => plus(x, [-y[0], y[1]]);

/** The attributes of a schema; a refusal for open text and for every key that this client does not know. */
export function schema(value: Json | undefined): readonly Attribute[] {
  const keys = new Keys(value);
  const attributes = keys.list("attributes").map(attribute);
  keys.end();
  must(attributes.length && distinct(attributes.flatMap((one) => one.columns)));
  return attributes;
}

export const distinct = (list: readonly unknown[]): boolean => new Set(list).size === list.length;
const increasing = (list: readonly (number | string)[]): boolean => list.every((one, i) => !i || list[i - 1]! < one);

/** White space around a text, as Python sees it. */
const padded = (text: string): boolean => /^(?:[\x1c-\x1f\x85]|(?!\ufeff)\s)|(?:[\x1c-\x1f\x85]|(?!\ufeff)\s)$/.test(text);

/** The value of a key that is left out where it is the default. */
function stated<T>(keys: Keys, key: string, usual: T): T {
  if (!keys.has(key)) return usual;
  const value = keys.take(key) as T;
  must(typeof value === typeof usual && value !== usual);
  return value;
}

function attribute(value: Json): Attribute {
  const keys = new Keys(value);
  const first = !VERSION_2.some((key) => keys.has(key));
  const name = keys.text("name");
  const kind = stated<string>(keys, "kind", "categories");
  const open = stated(keys, "text", false) || kind === "text";
  must(!open, "Open text cannot be answered in a browser.");
  must(["categories", "ordered", "numeric", "multiple"].includes(kind), `This page does not know questions of the kind "${kind}".`);
  const grid = kind === "numeric" ? gridOf(keys) : undefined;
  const [boxes, ordered] = [kind === "multiple", kind === "ordered"];
  const dictionary = kind === "categories" && keys.has("dictionary") ? reference(keys) : undefined;
  const categories = grid ? pointLabels(grid) : dictionary ? [] : texts(keys.list("categories"));
  const dated = (edge: Json): string | number => (typeof edge === "string" && isDay(edge) ? edge : plainNumber(edge));
  const edges = (ordered || kind === "categories") && !dictionary && keys.has("edges") ? keys.list("edges").map(dated) : undefined;
  const [missing, other] = [keys.optionalText("missing"), keys.optionalText("other")];
  const separator = boxes ? stated(keys, "separator", ";") : ";";
  const title = stated(keys, "title", "");
  // For the analyst: they are part of the id.
  const scores = ordered && keys.has("scores") ? keys.list("scores").map(plainNumber) : undefined;
  const ask = stated<string>(keys, "ask", grid ? "mean" : "shares");
  keys.end();
  const further = [missing, other].filter((label): label is string => label !== undefined);
  const labels = [...categories, ...further];
  const count = (dictionary?.k ?? categories.length) + further.length;
  must(name && count >= 2 && distinct(labels) && (!scores || scores.length === categories.length));
  must(!edges || (edges.length && edges.length + 1 === categories.length && increasing(edges) && new Set(edges.map((one) => typeof one)).size === 1));
  must(!boxes || (separator && labels.every((label) => label && !label.includes(separator) && !padded(label))));
  const scored = scores || (ordered && !edges && categories.every((label) => canonicalDecimal(label) !== undefined));
  must(ask === "shares" || (ask === "mean" && (grid || scored)));
  return {
    name,
    title,
    kind: kind as Kind,
    categories,
    missing,
    other,
    edges,
    dictionary,
    grid,
    separator,
    labels,
    columns: boxes ? labels.map((label) => `${name}: ${label}`) : [name],
    first: first && typeof edges?.[0] !== "string",
    sizes: boxes ? Array.from({ length: count }, () => 2n) : [BigInt(count)],
  };
}

function reference(keys: Keys): { k: number; digest: string } {
  const inner = new Keys(keys.take("dictionary"));
  const [k, digest] = [inner.integer("k"), inner.text("digest")];
  inner.text("file");
  inner.end();
  return { k, digest };
}

function gridOf(keys: Keys): Grid {
  const ends = keys.list("range").map((end) => parseDecimal(String(plainNumber(end))));
  const size = keys.integer("grid");
  const [low, high] = ends;
  must(ends.length === 2 && low && high && less(low, high));
  must(size >= 2 && size <= POINTS && ![low, high].some(([n, d]) => n * n > 10n ** 30n * d * d));
  return { low, high, size: BigInt(size), clip: stated(keys, "clip", false) };
}

/** The points of a grid as people read them: exact where they are short, else of as few digits as tell them apart. */
function pointLabels({ low, high, size }: Grid): string[] {
  const width = minus(high, low);
  const points = Array.from({ length: Number(size) }, (_, i) => plus(low, times(width, fraction(BigInt(i), size - 1n))));
  const spelled = (digits: number): string[] => points.map((point) => decimalText(parseDecimal(toNumber(point).toPrecision(digits))!));
  const exact = (labels: string[]): boolean => labels.every((label, i) => label === decimalText(points[i]!));
  const longest = spelled(15);
  return (
    [6, 9, 12].map(spelled).find((labels) => distinct(labels) && (!exact(longest) || exact(labels))) ?? longest
  );
}

/** The words of a dictionary file, if they are the ones that the survey was made with. */
export async function words(text: string, { k, digest }: { k: number; digest: string }): Promise<string[]> {
  let lines = text.replace(/^\ufeff/, "").replace(/\n$/, "").split("\n");
  if (text.includes("\r")) lines = lines.map((line) => line.replace(/\r$/, ""));
  const encoder = new TextEncoder();
  const encoded = lines.map((line) => encoder.encode(line));
  const content = new Uint8Array(encoded.reduce((sum, word) => sum + word.length + 8, 0));
  const view = new DataView(content.buffer);
  let place = 0;
  for (const word of encoded) {
    view.setUint32(place, word.length, true);
    content.set(word, place + 8);
    place += word.length + 8;
  }
  must(
    lines.length === k && (await sha256(content)) === digest,
    "The list of words is not the one that this survey was made with.",
  );
  return lines;
}

/** The same attribute with the words of its dictionary. */
export const withWords = (attribute: Attribute, list: readonly string[]): Attribute => ({
  ...attribute,
  categories: list,
  labels: [...list, ...attribute.labels],
});

// ---------------------------------------------------------------- answers to codes

/**
 * An answer as somebody gave it: a text that was typed, several for boxes, the code of a label that was chosen, or null
 * where there is none.
 */
export type Answer = string | readonly string[] | number | null;

/** Thrown for an answer that is none; names the question, never the answer. */
export class AnswerError extends Error {
  constructor(
    readonly attribute: string,
    readonly reason: "missing" | "unknown" | "number" | "outside",
  ) {
    super(`The answer to "${attribute}" is ${reason === "missing" ? "missing" : "none of those possible"}.`);
  }
}

const DECIMAL = /^-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?$/;
const NOT_FINITE = /^[+-]?(nan|inf|infinity)$/i;
const NUMBER = /^[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?$/;

/** The shortest form of a plain decimal number, undefined for any other text. */
function canonicalDecimal(text: string): string | undefined {
  if (!DECIMAL.test(text)) return undefined;
  const short = text.includes(".") ? text.replace(/0+$/, "").replace(/\.$/, "") : text;
  return short === "-0" ? "0" : short;
}

/** The codes of a record's columns, in order; words decide how numeric answers are rounded, one word for each. */
export function encode(attributes: readonly Attribute[], answers: readonly Answer[], words: Words): bigint[] {
  return attributes.flatMap((one, j) => {
    const answer = answers[j] ?? null;
    if (one.kind === "multiple") return boxes(one, answer);
    if (typeof answer === "number") {
      must(!one.grid && answer >= 0 && answer < one.labels.length);
      return [BigInt(answer)];
    }
    must(answer === null || typeof answer === "string");
    return [BigInt(one.grid ? rounded(one, one.grid, answer, words) : one.edges ? interval(one, answer) : category(one, answer))];
  });
}

const missingCode = (one: Attribute): number => {
  if (one.missing === undefined) throw new AnswerError(one.name, "missing");
  return one.categories.length;
};

const otherCode = (one: Attribute): number => {
  if (one.other === undefined) throw new AnswerError(one.name, "unknown");
  return one.labels.length - 1;
};

/** The code of the label that a text is, or of the only one that is the same number; undefined if there is none. */
function labelled(one: Attribute, text: string): number | undefined {
  const exact = one.labels.indexOf(text);
  if (exact >= 0) return exact;
  const number = one.dictionary ? undefined : canonicalDecimal(text);
  if (number === undefined) return undefined;
  const same = one.labels.flatMap((label, code) => (canonicalDecimal(label) === number ? [code] : []));
  return same.length === 1 ? same[0] : undefined;
}

function category(one: Attribute, answer: string | null): number {
  if (answer === null || (answer === "" && !one.labels.includes(""))) return missingCode(one);
  return labelled(one, answer) ?? otherCode(one);
}

/** The labels of missing and other, and their codes. */
const further = (one: Attribute): (readonly [string, number])[] => [
  ...(one.other === undefined ? [] : [[one.other, one.labels.length - 1] as const]),
  ...(one.missing === undefined ? [] : [[one.missing, one.categories.length] as const]),
];

/** Whether this is a day of the calendar, as in 2026-05-01. */
export function isDay(value: unknown): value is string {
  const text = value as string;
  return /^\d{4}-\d\d-\d\d$/.test(text) && text > "0001" && !!new Date(text).toJSON()?.startsWith(text);
}

function interval(one: Attribute, answer: string | null): number {
  if (answer === null || answer === "") return missingCode(one);
  const dated = isDay(one.edges![0]);
  for (const [label, code] of further(one)) {
    const number = dated ? undefined : canonicalDecimal(label);
    if (answer === label || (number !== undefined && NUMBER.test(answer) && Number(answer) === Number(number))) return code;
  }
  if (dated) {
    // Of a time the day counts, as it is written.
    const day = answer.slice(0, 10);
    return isDay(day) && /^([T ]|$)/.test(answer.slice(10)) ? one.edges!.filter((edge) => edge <= day).length : otherCode(one);
  }
  if (NOT_FINITE.test(answer)) throw new AnswerError(one.name, "number");
  if (!NUMBER.test(answer)) return otherCode(one);
  const value = Number(answer);
  if (!Number.isFinite(value)) throw new AnswerError(one.name, "number");
  return one.edges!.filter((edge) => (edge as number) <= value).length;
}

function rounded(one: Attribute, grid: Grid, answer: string | null, words: Words): number {
  // Every numeric answer takes its word, so that the number of words does not depend on it.
  const word = words.next();
  if (!answer) return missingCode(one);
  const x = answer.length <= 400 ? parseDecimal(answer) : undefined;
  for (const [label, code] of further(one)) {
    const number = parseDecimal(label);
    if (answer === label || (x && number && x[0] === number[0] && x[1] === number[1])) return code;
  }
  if (!x) {
    if (answer.length > 400 || NOT_FINITE.test(answer) || NUMBER.test(answer)) throw new AnswerError(one.name, "number");
    return otherCode(one);
  }
  const [below, above] = [less(x, grid.low), less(grid.high, x)];
  if ((below || above) && !grid.clip) throw new AnswerError(one.name, "outside");
  const from = minus(below ? grid.low : above ? grid.high : x, grid.low);
  const width = minus(grid.high, grid.low);
  const [n, d] = [from[0] * width[1] * (grid.size - 1n), from[1] * width[0]];
  const threshold = ((n % d) * SCALE) / d;
  return Number(n / d) + (word < threshold ? 1 : 0);
}

/** Which boxes are ticked: of a list; of a text divided at the separator, as a cell of a table has it. */
function boxes(one: Attribute, answer: Answer): bigint[] {
  must(typeof answer !== "number");
  const divided = typeof answer === "string" || (answer === null && one.missing === undefined);
  const parts = divided ? (answer ?? "").toString().split(one.separator) : (answer as readonly string[] | null);
  const ticked = new Set<number>();
  for (const part of parts ?? []) {
    const text = part.trim();
    if (text || !divided) ticked.add(labelled(one, text) ?? otherCode(one));
  }
  if (parts === null || (divided && !ticked.size && one.missing !== undefined)) ticked.add(missingCode(one));
  return one.labels.map((_, code) => (ticked.has(code) ? 1n : 0n));
}
