// The voice of a page: its own sentences in the chosen language, and that language's way to write numbers.

import { h } from "./element.js";
import { must } from "./exact.js";
import { Numerals } from "./numbers.js";
import { FREE } from "./free.js";
import { ENGLISH, type Key, shipped } from "./text.js";

/** The values of a sentence's placeholders. */
export type Values = Readonly<Record<string, string | number | Node>>;

const RTL = /^(ar|ckb|dv|fa|he|ku|ps|sd|ug|ur|yi)\b/;

/** The languages of the reader's browser. */
const wanted = (): readonly string[] => navigator.languages;

/** The first of some tags that the reader's browser asks for, or the first of all if it asks for none of them. */
export function preferred(tags: readonly string[]): string {
  const fits = (tag: string, one: string): boolean => [one, one.split("-")[0]!].includes(tag.toLowerCase());
  return wanted().flatMap((one) => tags.filter((tag) => fits(tag, one.toLowerCase())))[0] ?? tags[0]!;
}

/** The page's voice. */
export class Voice {
  private _spoken: (readonly [Element, () => void])[] = [];
  private _numerals: Numerals | undefined;

  /** `_tag` is the language. The survey may have wordings of its own in each language. */
  constructor(
    private _tag: string,
    private readonly _own: (tag: string) => Partial<Record<Key, string>> | undefined = () => undefined,
  ) {}

  get tag(): string {
    return this._tag;
  }

  get direction(): string {
    return RTL.test(this._tag) ? "rtl" : "ltr";
  }

  get numerals(): Numerals {
    const primary = (tag: string): string => tag.toLowerCase().split("-")[0]!;
    return (this._numerals ??= new Numerals(wanted().find((one) => primary(one) === primary(this._tag)) ?? this._tag));
  }

  /** Speak another language from now on, everywhere. */
  change(tag: string): void {
    [this._tag, this._numerals] = [tag, undefined];
    this.speak();
  }

  /** Write the sentences inside an element, or all sentences, again. */
  speak(inside?: Element): void {
    for (const [element, now] of this._spoken) if (!inside || inside.contains(element)) now();
  }

  /** Forget the sentences inside an element that is gone. */
  forget(gone: Element): void {
    this._spoken = this._spoken.filter(([element]) => !gone.contains(element));
  }

  /** A sentence as plain text. */
  fill(key: Key, values: Values = {}): string {
    return this._parts(key, values).map((one) => (typeof one === "string" ? one : (one.textContent ?? ""))).join("");
  }

  /** Let an element show a sentence, now and in every language that is chosen later. */
  say<E extends Element>(element: E, what: Key | (() => string), values: () => Values = () => ({})): E {
    const now = (): void => {
      const own = typeof what === "string";
      element.replaceChildren(...(own ? this._parts(what, values()) : [what()]));
      // A sentence that is in English on a page in another language is marked as English.
      const foreign = own && this._worded(what) === undefined && !shipped(this._tag)?.[what];
      for (const [name, value] of [["lang", "en"], ["dir", "ltr"]] as const)
        if (foreign) element.setAttribute(name, value);
        else element.removeAttribute(name);
    };
    this._spoken.push([element, now]);
    now();
    return element;
  }

  /** The page document's own wording of a sentence, if it may have one. */
  private _worded(key: Key): string | undefined {
    return FREE.has(key) ? this._own(this._tag)?.[key] : undefined;
  }

  private _parts(key: Key, values: Values): (string | Node)[] {
    const sentence = this._worded(key) ?? shipped(this._tag)?.[key] ?? ENGLISH[key];
    const filled = (text: string): (string | Node)[] =>
      text.split(/\{(\w+)\}/).map((part, i) => {
        if (!(i % 2)) return part;
        must(Object.prototype.hasOwnProperty.call(values, part));
        const value = values[part]!;
        return typeof value === "number" ? this.numerals.text(value) : value;
      });
    return sentence.split("*").flatMap((part, i) => (i % 2 ? [h("strong", {}, ...filled(part))] : filled(part)));
  }
}
