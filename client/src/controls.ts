// What people answer with: controls that several kinds of questions have.

import { h } from "./element.js";
import { toNumber } from "./exact.js";
import type { Answer, Attribute, Field } from "./kind.js";

/** So many answers are listed one by one. */
export const LISTED = 16;

export const everyCode = (one: Attribute): number[] => one.labels.map((_, code) => code);

/** The labels of the inputs that are chosen. */
export const chosen = (one: Attribute, inputs: readonly HTMLInputElement[]): string[] =>
  inputs.filter((input) => input.checked).map((input) => one.labels[Number(input.value)]!);

/** One of a list; of intervals, which are too many to be listed, a number or a date. */
export function choice(one: Attribute, field: Field, name = ""): () => Answer {
  if (one.edges && one.labels.length > LISTED) return typed(one, field, number);
  if (name) field.box.className = name;
  const inputs = field.choices("radio", everyCode(one), true);
  return () => inputs.findIndex((input) => input.checked);
}

type Prepare = (one: Attribute, field: Field, input: HTMLInputElement, hint: HTMLElement) => void;

/** An answer that is typed; missing and other are choices of their own, and then nothing else is needed. */
export function typed(one: Attribute, field: Field, prepare: Prepare): () => Answer {
  const hint = h("span", { class: "hint" });
  const input = h("input", { id: field.name, autocomplete: "off", required: true });
  field.box.append(h("label", { for: field.name }, hint), input);
  prepare(one, field, input, hint);
  const further = field.choices("checkbox", everyCode(one).slice(one.categories.length), false);
  for (const choice of further)
    choice.addEventListener("change", () => {
      for (const other of further) if (other !== choice) other.checked = false;
      input.disabled = choice.checked;
    });
  return () => chosen(one, further)[0] ?? input.value;
}

/** A number, between the ends of a grid if it has one; or a date. */
export const number: Prepare = (one, field, input, hint) => {
  if (typeof one.edges?.[0] === "string") {
    // Its format is the reader's; browsers say what it is.
    input.type = "date";
    return;
  }
  input.type = "number";
  input.step = "any";
  input.inputMode = "decimal";
  if (one.grid && !one.grid.clip) {
    const [low, high] = [String(toNumber(one.grid.low)), String(toNumber(one.grid.high))];
    Object.assign(input, { min: low, max: high });
    field.say(hint, "between", () => ({ low, high }));
  } else field.say(hint, "number");
};
