// Controls that people answer with, for several kinds of questions.

import { h } from "./element.js";
import { type Fraction, less, parseDecimal, toNumber } from "./exact.js";
import type { Attribute, Control, Field } from "./kind.js";
import type { Values } from "./voice.js";

/** Largest number of answers that are listed one by one. */
export const LISTED = 16;

export const everyCode = (one: Attribute): number[] => one.labels.map((_, code) => code);

const chosen = (inputs: readonly HTMLInputElement[]): HTMLInputElement | undefined => inputs.find((input) => input.checked);

/** The sentence if nothing was chosen, with the answer that anyone may give if there is one. */
function nothingChosen(one: Attribute, field: Field): string {
  return one.missing === undefined ? field.fill("choose") : field.fill("chooseOr", { label: field.label(one.categories.length) });
}

/** A choice from a list, or a number or a date if there are too many intervals to list. */
export function choice(one: Attribute, field: Field, name = ""): Control {
  if (one.edges && one.labels.length > LISTED) return typed(one, field, typeof one.edges[0] === "string" ? day : number);
  const inputs = field.choices("radio", everyCode(one), name);
  const code = (): number => inputs.findIndex((input) => input.checked);
  return {
    read: () => (code() < 0 ? undefined : code()),
    fault: () => nothingChosen(one, field),
    spoken: () => field.label(code()),
  };
}

/** A choice of any number from a list, or of none. The page asks for one of the two. */
export function options(one: Attribute, field: Field): Control {
  const inputs = field.choices("checkbox", everyCode(one));
  const none = field.further("none");
  const missing = one.missing === undefined ? undefined : inputs[one.categories.length];
  const every = [...inputs, none];
  const alone = (input: HTMLInputElement): boolean => input === none || input === missing;
  for (const input of every)
    input.addEventListener("change", () => {
      for (const other of every) if (other !== input && (alone(input) || alone(other))) other.checked = false;
    });
  const codes = (): number[] => everyCode(one).filter((code) => inputs[code]!.checked);
  return {
    read: () => (chosen(every) ? codes().map((code) => one.labels[code]!) : undefined),
    fault: () => field.fill("chooseOr", { label: field.fill("none") }),
    spoken: () => codes().map(field.label).join(", ") || field.fill("none"),
  };
}

/** How a typed answer is entered: how its field is set up, what a text means, and how the answer is shown again. */
export interface Typing {
  /** Set up the field and the text of its hint. */
  prepare(one: Attribute, field: Field, input: HTMLInputElement, hint: HTMLElement): void;
  /** The answer that was typed; undefined if it cannot be one. */
  read(one: Attribute, field: Field, text: string): string | undefined;
  /** The sentence if the text cannot be an answer. */
  fault(one: Attribute, field: Field): string;
  /** An answer as its reader writes it. */
  spoken(field: Field, answer: string): string;
}

/** A control for a typed answer. Missing and other are separate choices, and then nothing need be typed. */
export function typed(one: Attribute, field: Field, how: Typing): Control {
  const hint = h("p", { class: "hint", id: `${field.name}-hint` });
  const input = h("input", { id: field.name, autocomplete: "off", class: "typed", "aria-labelledby": `${field.name}-title`, "aria-describedby": `${hint.id} ${field.name}-fault` });
  field.box.append(hint, h("div", { class: "typing" }, input));
  how.prepare(one, field, input, hint);
  const further = field.choices("checkbox", everyCode(one).slice(one.categories.length));
  for (const choice of further)
    choice.addEventListener("change", () => {
      for (const other of further) if (other !== choice) other.checked = false;
      if (choice.checked) input.value = "";
    });
  input.addEventListener("input", () => {
    for (const choice of further) choice.checked = false;
  });
  const instead = (): number | undefined => {
    const found = chosen(further);
    return found && Number(found.value);
  };
  const read = (): string | undefined => (input.value.trim() ? how.read(one, field, input.value) : undefined);
  return {
    read: () => {
      const code = instead();
      return code === undefined ? read() : one.labels[code]!;
    },
    fault: () => how.fault(one, field),
    spoken: () => {
      const code = instead();
      return code === undefined ? how.spoken(field, read() ?? "") : field.label(code);
    },
  };
}

/** The grid of a question whose numbers must be between its ends. */
const bounded = ({ grid }: Attribute): Attribute["grid"] => (grid?.clip ? undefined : grid);

const places = (one: Attribute, field: Field): Values => {
  const [low, high] = [bounded(one)!.low, bounded(one)!.high].map(toNumber) as [number, number];
  // The example lies below the middle. It has a decimal if the range is so narrow that people might want one.
  const some = low + (high - low) / 4;
  const example = high - low > 1000 ? Number(some.toPrecision(2)) : high - low > 2 ? Math.floor(some) + 0.5 : Number(some.toPrecision(2));
  return { low, high, example: field.numerals().text(example) };
};

/** A number, between the ends of a grid if it has one. */
export const number: Typing = {
  prepare: (one, field, input, hint) => {
    input.inputMode = "decimal";
    input.maxLength = 40;
    const middle = (): string => field.label(one.categories.length >> 1);
    if (bounded(one)) field.say(hint, "step", () => ({ ...places(one, field), label: middle() }));
    else if (one.grid) field.say(hint, "number");
    else field.say(hint, () => `${field.fill("number")}. ${field.fill("range", { label: middle() })}`);
  },
  read: (one, field, text) => {
    const plain = field.numerals().plain(text);
    const value: Fraction | undefined = plain === undefined ? undefined : parseDecimal(plain);
    const grid = bounded(one);
    return !value || (grid && (less(value, grid.low) || less(grid.high, value))) ? undefined : plain;
  },
  fault: (one, field) => (bounded(one) ? field.fill("between", places(one, field)) : `${field.fill("number")}.`),
  spoken: (field, answer) => field.numerals().exact(answer),
};

/** A day; browsers show it as their reader writes it. */
const day: Typing = {
  prepare: (_one, field, input, hint) => {
    input.type = "date";
    field.say(hint, "date");
  },
  read: (_one, _field, text) => text,
  fault: (_one, field) => field.fill("date"),
  spoken: (field, answer) => field.numerals().day(answer),
};
