// Kinds of questions: the base of all files in `kinds/`. The library's counterpart is `survey/question_kind.py`.

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

/** The part of an entry that a kind reads: the possible answers. */
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
  /** Domain sizes of the columns that it fills: one column, or one column of two values for every option. */
  readonly sizes: readonly bigint[];
  /** The names of those columns. */
  readonly columns: readonly string[];
  /** The condition: an earlier question, given by its place, must have one of these codes. */
  readonly branch?: { readonly at: number; readonly codes: readonly number[] } | undefined;
  /** Whether documents of format version 1 can describe it. */
  readonly first: boolean;
}

/**
 * An answer as a person gave it: a typed text, several texts for options, the code of a chosen label, or null if there is no
 * answer.
 */
export type Answer = string | readonly string[] | number | null;

/** The parts of a page that the control of a question may use. */
export interface Field {
  /** The field set, whose legend has the question as its title. The title's id ends in `-title`. */
  readonly box: HTMLElement;
  /** The name of all inputs, and the id of a single input. */
  readonly name: string;
  /** Add an input with its label for each of these codes, in a group that may have a name. */
  choices(type: "radio" | "checkbox", codes: readonly number[], group?: string): HTMLInputElement[];
  /** Add a checkbox whose label is a sentence of the page. It has no code. */
  further(key: Key): HTMLInputElement;
  /** The survey's label of a code, in the chosen language. */
  label(code: number): string;
  /** Let an element say a sentence of the page, in the chosen language. */
  say(element: HTMLElement, what: Key | (() => string), values?: () => Values): HTMLElement;
  /** A sentence of the page. */
  fill(key: Key, values?: Values): string;
  /** The numerals of the chosen language. */
  numerals(): Numerals;
}

/** The control with which a question is answered. */
export interface Control {
  /** The answer; undefined if there is none yet, or what was typed cannot be one. */
  read(): Answer | undefined;
  /** The sentence if there is no valid answer. */
  fault(): string;
  /** The answer as it is shown to the person again. */
  spoken(): string;
}

/** One kind of question: how it is declared, answered and shown. */
export interface Kind {
  /** The name in documents, which is also the name of its file. */
  readonly name: string;
  /** Whether a document that names no kind means this one. */
  readonly usual?: boolean;
  /** The key of an entry from which this kind is recognised, so that documents need not name the kind. */
  readonly mark?: string;
  /** The figure that is read from the answers if the document names none. */
  readonly ask?: "mean";
  /** Whether any number of its labels may be given. Each label is then a two-valued column of the record. */
  readonly several?: boolean;
  /** Whether its labels are too many for page documents. */
  readonly unlisted?: boolean;
  /** Read the keys of an entry that say which answers there are. A wrong key throws a refusal. */
  read(keys: Keys): Own;
  /** Whether the labels, missing and other among them, are as they must be. */
  fits?(one: Attribute): unknown;
  /** Load the labels that are not in the document. */
  loaded?(one: Attribute, read: (path: string) => Promise<string>): Promise<Attribute>;
  /** The codes of the columns that it fills. Words decide how an answer is rounded. */
  codes(one: Attribute, answer: Answer, words: Words): bigint[];
  /** Add the control with which people answer to a field set. */
  control(one: Attribute, field: Field): Control;
}
