// A survey as people see it: its questions, labels and columns in the chosen language.

import { toNumber } from "./exact.js";
import type { Attribute } from "./kind.js";
import type { Drawn } from "./records.js";
import type { Survey } from "./survey.js";
import type { Language, PageDocument } from "./terms.js";
import type { Voice } from "./voice.js";

/** A column of the record, as people read it. */
export interface Column {
  question(): string;
  label(code: number): string;
}

/** A survey, its page document, and the voice that speaks for both. */
export class Asking {
  /** The largest factor by which a report moves odds, a little above the exact one. */
  readonly ratio: number;
  /** The columns of the record, in its order. */
  readonly columns: readonly Column[];

  constructor(
    readonly survey: Survey,
    readonly texts: PageDocument,
    readonly voice: Voice,
  ) {
    this.ratio = toNumber(survey.mechanism.ratio) * (1 + 2 ** -50);
    this.columns = survey.attributes.flatMap((one) =>
      one.kind.several
        ? one.labels.map((_, box) => ({
            question: () => `${this.question(one)} – ${this.label(one, box)}`,
            label: (code: number) => voice.fill(code ? "yes" : "no"),
          }))
        : [{ question: () => this.question(one), label: (code: number) => this.label(one, code) }],
    );
  }

  get language(): Language {
    return this.texts.languages[this.voice.tag]!;
  }

  question(one: Attribute): string {
    return this._apart(this.language.questions[one.name]!);
  }

  label(one: Attribute, code: number): string {
    return this._apart((one.kind.unlisted ? undefined : this.language.labels?.[one.name]?.[code]) ?? one.labels[code]!);
  }

  /** A text in its own direction, or "1 to 9" would be read as "to 9 1" on a page from right to left. */
  private _apart(text: string): string {
    return this.voice.direction === "rtl" ? `\u2068${text}\u2069` : text;
  }

  /** The factor as people read it: three digits, rounded up. */
  factor(): string {
    return this.voice.numerals.text(roundedUp(this.ratio), { maximumSignificantDigits: 3 });
  }

  /** The part of the record that is sent. "Single" is the whole record if it has one answer. */
  sends(): "Single" | Drawn {
    return this.columns.length === 1 ? "Single" : this.survey.mechanism.drawn;
  }
}

/** A positive number in three digits, rounded up. */
function roundedUp(x: number): number {
  const near = Number(x.toPrecision(3));
  return near < x ? Number((near + 10 ** (Math.floor(Math.log10(x)) - 2)).toPrecision(3)) : near;
}
