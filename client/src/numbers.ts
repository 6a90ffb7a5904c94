// Numbers and dates as a reader writes them: digits, decimal sign and groups of the language.

const SPACES = /[\s\u00a0\u202f'’\u200e\u200f\u061c]/g;
/** Zeros of decimal digits that people type whatever the page's language is: Arabic, Persian, Devanagari, full width. */
const ZEROS = [0x660, 0x6f0, 0x966, 0xff10];
const PLAIN = /^[+-]?(\d+(\.\d*)?|\.\d+)$/;

/** How one language writes numbers. */
export class Numerals {
  private readonly _group: string;
  private readonly _zeros: readonly number[];

  /** `_tag` names a language. If the reader's browser says which region, the numbers are those of that region. */
  constructor(private readonly _tag: string) {
    const parts = new Intl.NumberFormat(_tag).formatToParts(12345.6);
    this._group = parts.find((one) => one.type === "group")?.value ?? "";
    const zero = new Intl.NumberFormat(_tag).format(0).codePointAt(0)!;
    this._zeros = zero === 48 ? ZEROS : [...ZEROS, zero];
  }

  /** A number, by default with at most three decimals. */
  text(x: number, options: Intl.NumberFormatOptions = {}): string {
    return new Intl.NumberFormat(this._tag, options).format(x);
  }

  /** A share as per cents, in whole per cents or with a given number of significant digits. */
  percent(x: number, digits?: number): string {
    return this.text(x, { style: "percent", ...(digits ? { maximumSignificantDigits: digits } : { maximumFractionDigits: 0 }) });
  }

  /** A plain decimal number, digit for digit. */
  exact(plain: string): string {
    // The digits of a text are not rounded. A browser whose Intl cannot read texts rounds at 15 digits.
    return this.text(plain as unknown as number, { maximumFractionDigits: 15 });
  }

  /** A day, which is the same day everywhere; or the day of a time where the reader is. */
  day(time: string): string {
    const timeZone = time.includes("T") ? undefined : "UTC";
    return new Intl.DateTimeFormat(this._tag, { dateStyle: "long", timeZone }).format(new Date(time));
  }

  /** The typed text as a plain decimal number, such as "7.5"; undefined if it is not a number. */
  plain(typed: string): string | undefined {
    const text = typed.replace(SPACES, "").replace(/−/g, "-").replace(/\p{Nd}/gu, (digit) => this._digit(digit));
    const signs = [...new Set(text.match(/[^\d+-]/g) ?? [])];
    const last = signs[signs.length - 1];
    const [group, decimal] = signs.length === 1 && this._groups(text, last!) ? [last] : signs.length > 1 ? [signs[0], last] : [, last];
    const [whole, ...rest] = decimal ? text.split(decimal) : [text];
    if (signs.length > 2 || /[^-+\d.,٫٬،]/.test(text) || rest.length > 1 || (group && !grouped(whole!, group))) return undefined;
    const plain = [group ? whole!.split(group).join("") : whole, ...rest].join(".");
    return PLAIN.test(plain) ? plain.replace("+", "") : undefined;
  }

  private _digit(digit: string): string {
    const code = digit.codePointAt(0)!;
    const zero = this._zeros.find((one) => code >= one && code < one + 10);
    return zero === undefined ? digit : String(code - zero);
  }

  /** Whether the only sign of a number divides thousands, either in this language or because the sign occurs twice. */
  private _groups(text: string, sign: string): boolean {
    const may = sign === "٬" || sign === this._group || text.split(sign).length > 2;
    return may && grouped(text, sign);
  }
}

/** Whether a sign divides digits as thousands are divided. */
const grouped = (text: string, sign: string): boolean => {
  const [first, ...others] = text.replace(/^[+-]/, "").split(sign);
  return /^[1-9]\d{0,2}$/.test(first!) && others.every((one) => /^\d{3}$/.test(one));
};
