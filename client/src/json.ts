// JSON as text. Numbers stay the tokens that were written, so the canonical form is Python's, and so is an id.

import { must } from "./exact.js";

/** A number, as it was written. */
export class NumberToken {
  constructor(readonly text: string) {}
}

export type Json = null | boolean | string | NumberToken | Json[] | Map<string, Json>;

const TOKEN = /[ \t\n\r]*(?:([{}[\],:])|("(?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*")|(-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?)|(true|false|null))[ \t\n\r]*/y;
const DEEPEST = 32;

/** The value of a JSON text. No key may occur twice, and nothing may be nested deeper than 32 levels. */
export function parse(text: string): Json {
  let [place, kind] = [0, 0];
  let token = "";
  const next = (): void => {
    TOKEN.lastIndex = place;
    const found = TOKEN.exec(text);
    must(found);
    place = TOKEN.lastIndex;
    kind = [1, 2, 3, 4].find((group) => found[group] !== undefined)!;
    token = found[kind]!;
  };
  const at = (mark: string): boolean => kind === 1 && token === mark;
  /** Read the items between a bracket and its end, which commas separate. */
  const items = (end: string, item: () => void): void => {
    next();
    if (at(end)) return;
    for (;;) {
      item();
      next();
      if (at(end)) return;
      must(at(","));
      next();
    }
  };
  const value = (depth: number): Json => {
    must(depth <= DEEPEST);
    if (kind === 2) return unquoted(token);
    if (kind === 3) return new NumberToken(token);
    if (kind === 4) return JSON.parse(token) as boolean | null;
    if (at("[")) {
      const list: Json[] = [];
      items("]", () => list.push(value(depth + 1)));
      return list;
    }
    must(at("{"));
    const map = new Map<string, Json>();
    items("}", () => {
      must(kind === 2);
      const key = unquoted(token);
      must(!map.has(key));
      next();
      must(at(":"));
      next();
      map.set(key, value(depth + 1));
    });
    return map;
  };
  next();
  const result = value(1);
  must(place === text.length);
  return result;
}

/** The text of a string token: Unicode, without half of a surrogate pair. */
function unquoted(token: string): string {
  const text = JSON.parse(token) as string;
  must(!/\p{Cs}/u.test(text));
  return text;
}

const quoted = (text: string): string =>
  // Python escapes everything outside of printable ASCII, in lower case.
  JSON.stringify(text).replace(/[^ -~]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);

/** The order of code points, in which Python sorts texts. JavaScript's own order is that of UTF-16 units. */
const byCodePoint = (a: string, b: string): number => {
  const [left, right] = [[...a], [...b]];
  for (let i = 0; i < left.length && i < right.length; i++) {
    const apart = left[i]!.codePointAt(0)! - right[i]!.codePointAt(0)!;
    if (apart) return apart;
  }
  return left.length - right.length;
};

/** The canonical text of a value: sorted keys, no white space, ASCII only. */
export function canonical(value: Json): string {
  if (value instanceof NumberToken) return value.text;
  if (value instanceof Map) {
    const entries = [...value].sort(([a], [b]) => byCodePoint(a, b));
    return `{${entries.map(([key, item]) => `${quoted(key)}:${canonical(item)}`).join(",")}}`;
  }
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
  return typeof value === "string" ? quoted(value) : String(value);
}

/** SHA-256 of bytes or of a text in UTF-8, in hexadecimal digits. */
export async function sha256(content: string | Uint8Array): Promise<string> {
  const bytes = typeof content === "string" ? new TextEncoder().encode(content) : content;
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes as Uint8Array<ArrayBuffer>));
  return [...digest].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** A reader of an object's keys, each at most once. Keys that are left over are refused. */
export class Keys {
  private readonly _left: Map<string, Json>;

  constructor(value: Json | undefined) {
    must(value instanceof Map);
    this._left = new Map(value);
  }

  /** The value of a key, undefined if there is none. */
  take(key: string): Json | undefined {
    const value = this._left.get(key);
    this._left.delete(key);
    return value;
  }

  text(key: string): string {
    const value = this.take(key);
    must(typeof value === "string");
    return value;
  }

  optionalText(key: string): string | undefined {
    return this._left.has(key) ? this.text(key) : undefined;
  }

  integer(key: string): number {
    const value = this.take(key);
    return whole(value);
  }

  number(key: string): number {
    return numberOf(this.take(key));
  }

  list(key: string): Json[] {
    const value = this.take(key);
    must(Array.isArray(value));
    return value;
  }

  object(key: string): Map<string, Json> {
    const value = this.take(key);
    must(value instanceof Map);
    return value;
  }

  has(key: string): boolean {
    return this._left.has(key);
  }

  /** Refuse whatever has not been read. */
  end(): void {
    const [key] = this._left.keys();
    must(key === undefined, `This survey contains an entry that this page does not know: "${key}".`, "refused");
  }
}

/** The double that a number token means. */
export function numberOf(value: Json | undefined): number {
  must(value instanceof NumberToken);
  return Number(value.text);
}

/** The double that a number token means. The token must be written as the library writes it. */
export function plainNumber(value: Json | undefined): number {
  const x = numberOf(value);
  const size = Math.abs(x);
  const text =
    Number.isInteger(x) && size < 1e15
      ? String(x)
      : size >= 1e16 || size < 1e-4
        ? x.toExponential().replace(/e([+-])(\d)$/, "e$10$2")
        : x + (Number.isInteger(x) ? ".0" : "");
  must(size < Infinity && (value as NumberToken).text === text);
  return x;
}

/** The whole number, not negative, that a number token is. */
export function whole(value: Json | undefined): number {
  must(value instanceof NumberToken && /^\d{1,300}$/.test(value.text));
  return Number(value.text);
}

/** The texts of a list. */
export const texts = (list: readonly Json[]): string[] =>
  list.map((item) => {
    must(typeof item === "string");
    return item;
  });
