// What a kind of question is: the base of all files in `kinds/`. The library has the same in `survey/question_kind.py`.

import type { Fraction } from "./exact.js";
import type { Keys } from "./json.js";
import type { Numerals } from "./numbers.js";
import type { Key } from "./text.js";
import type { Values } from "./voice.js";
import type { Words } from "./words.js";

/** The public grid of a numeric attribute. */
export interface Grid {
  readonly low: Fraction;
  readonly high: Fraction;
  readonly size: bigint;
  readonly clip: boolean;
}

/** What a kind reads of an entry: the answers there are. */
export interface Own {
  /** Labels of the categories, of the grid's points, of the boxes, or the words of the dictionary once they are loaded. */
  readonly categories: readonly string[];
  /** Cut points: numbers, or days as "2026-05-01". */
  readonly edges?: readonly (number | string)[] | undefined;
  readonly dictionary?: { readonly k: number; readonly digest: string };
  readonly grid?: Grid;
  readonly separator?: string;
  /** Whether a mean may be asked for. */
  readonly scored?: boolean;
}

/** One question. */
export interface Attribute extends Own {
  readonly name: string;
  readonly title: string;
  readonly kind: Kind;
  readonly missing: string | undefined;
  readonly other: string | undefined;
  /** Categories, missing and other. */
  readonly labels: readonly string[];
  /** Domain sizes of the columns that it fills: one, or two values for every box. */
  readonly sizes: readonly bigint[];
  /** The names of those columns. */
  readonly columns: readonly string[];
  /** It is asked only where an earlier question, by its place, has one of these codes. */
  readonly branch?: { readonly at: number; readonly codes: readonly number[] } | undefined;
  /** Whether documents of format version 1 can describe it. */
  readonly first: boolean;
}

/**
 * An answer as somebody gave it: a text that was typed, several for boxes, the code of a label that was chosen, or null
 * where there is none.
 */
export type Answer = string | readonly string[] | number | null;

/** What a page lends to the control of a question. */
export interface Field {
  /** The field set, whose legend is the question; its id ends in `-title`. */
  readonly box: HTMLElement;
  /** Name of inputs, and the id of one. */
  readonly name: string;
  /** Add an input with its label for each of these codes, in a group that may have a name. */
  choices(type: "radio" | "checkbox", codes: readonly number[], group?: string): HTMLInputElement[];
  /** Add a box whose label is a sentence of the page: it stands for no code. */
  further(key: Key): HTMLInputElement;
  /** What the survey calls a code, in the language that is chosen. */
  label(code: number): string;
  /** Let an element say a sentence of the page, in the language that is chosen. */
  say(element: HTMLElement, what: Key | (() => string), values?: () => Values): HTMLElement;
  /** A sentence of the page. */
  fill(key: Key, values?: Values): string;
  /** How the language that is chosen writes numbers. */
  numerals(): Numerals;
}

/** What a question is answered with. */
export interface Control {
  /** The answer; undefined if there is none yet, or what was typed cannot be one. */
  read(): Answer | undefined;
  /** What is said in that case. */
  fault(): string;
  /** The answer as its person reads it over. */
  spoken(): string;
}

/** One kind of question: how it is declared, answered and shown. */
export interface Kind {
  /** As documents write it, and as its file is called. */
  readonly name: string;
  /** Whether a document that names no kind means this one. */
  readonly usual?: boolean;
  /** The key of an entry that tells this kind, so that documents do not write the kind. */
  readonly mark?: string;
  /** What is read of the answers where the document does not say. */
  readonly ask?: "mean";
  /** Whether any number of its labels may be given, each of them a two-valued column of the record. */
  readonly several?: boolean;
  /** Whether its labels are too many for page documents. */
  readonly unlisted?: boolean;
  /** Read the keys of an entry that say which answers there are; a refusal where one is wrong. */
  read(keys: Keys): Own;
  /** Whether the labels, missing and other among them, are as they must be. */
  fits?(one: Attribute): unknown;
  /** Load what is not in the document. */
  loaded?(one: Attribute, read: (path: string) => Promise<string>): Promise<Attribute>;
  /** The codes of the columns that it fills; words decide how an answer is rounded. */
  codes(one: Attribute, answer: Answer, words: Words): bigint[];
  /** Add what people answer with to a field set. */
  control(one: Attribute, field: Field): Control;
}
