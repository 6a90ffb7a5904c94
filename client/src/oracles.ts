// Frequency oracles: how one answer, an integer below k, is reported. Words are used in the order of the Python library.

import {
  type Coin,
  type Fraction,
  fraction,
  inclusionThreshold,
  lieThreshold,
  must,
  SCALE,
  times,
} from "./exact.js";
import { Hashes } from "./sketch.js";
import { low, uniformBelow, type Words } from "./words.js";

/** What the bytes of a report say about an answer: they come from some answers with one chance, from all others with another. */
export interface Reading {
  /** Whether the report speaks for an answer. */
  supports(code: bigint): boolean;
  /** Chance of exactly these bytes from an answer that they speak for. */
  readonly likely: Fraction;
  /** Chance of exactly these bytes from any other answer. */
  readonly unlikely: Fraction;
}

/** One answer below k, randomised with a budget. */
export interface Oracle {
  readonly k: bigint;
  /** Bytes of a report. */
  readonly width: number;
  readonly coins: readonly Coin[];
  randomize(code: bigint, words: Words): Uint8Array;
  read(report: Uint8Array): Reading;
}

/** Bytes that hold codes below k. */
export const codeBytes = (k: bigint): number => (k <= 256n ? 1 : k <= 65536n ? 2 : 4);

/** An integer in little-endian bytes. */
export function toBytes(value: bigint, width: number): Uint8Array {
  const bytes = new Uint8Array(width);
  for (let i = 0; i < width; i++) bytes[i] = Number((value >> BigInt(8 * i)) & 255n);
  return bytes;
}

export function fromBytes(bytes: Uint8Array): bigint {
  return bytes.reduceRight((value, byte) => (value << 8n) | BigInt(byte), 0n);
}

/** Several arrays of bytes, one after the other, and zeros up to a width. */
export function joined(parts: readonly Uint8Array[], width?: number): Uint8Array {
  const result = new Uint8Array(width ?? parts.reduce((sum, part) => sum + part.length, 0));
  let place = 0;
  for (const part of parts) {
    result.set(part, place);
    place += part.length;
  }
  return result;
}

const split = (bytes: Uint8Array, width: number): Uint8Array[] =>
  Array.from({ length: bytes.length / width }, (_, i) => bytes.subarray(i * width, (i + 1) * width));

/** n choose r. */
function choose(n: bigint, r: bigint): bigint {
  let result = 1n;
  for (let i = 1n; i <= r; i++) result = (result * (n - r + i)) / i;
  return result;
}

/** Randomised response: the truth if the word is at least (k-1) Q, else the word says which other value. */
export class GRR implements Oracle {
  readonly width: number;
  readonly lie: bigint;
  readonly coins: readonly Coin[];

  constructor(
    readonly k: bigint,
    budget: Fraction,
  ) {
    must(k * k * budget[1] <= budget[0] * SCALE, "This survey has too many answers for its epsilon.");
    this.width = codeBytes(k);
    this.lie = lieThreshold(budget, k - 1n);
    this.coins = [{ threshold: this.lie, ratio: (q) => [SCALE - (k - 1n) * q, q], bolder: -1n, budget }];
  }

  /** Chance of every code over 2^64: of the one held, and of any other. */
  get chances(): readonly [bigint, bigint] {
    return [SCALE - (this.k - 1n) * this.lie, this.lie];
  }

  respond(code: bigint, words: Words): bigint {
    return this.answer(code, words.next());
  }

  answer(code: bigint, word: bigint): bigint {
    return word >= (this.k - 1n) * this.lie ? code : (code + 1n + word / this.lie) % this.k;
  }

  randomize(code: bigint, words: Words): Uint8Array {
    return toBytes(this.respond(code, words), this.width);
  }

  read(report: Uint8Array): Reading {
    const value = fromBytes(report);
    const [p, q] = this.chances;
    return { supports: (code) => code === value, likely: [p, SCALE], unlikely: [q, SCALE] };
  }
}

/**
 * Randomise packed bits: a set bit stays set with P/2^64, a clear one becomes so with Q/2^64.
 *
 * Each of 64 lanes compares a uniform number, drawn one bit per word from the most significant on, with its threshold.
 */
export function randomizeBits(bits: Uint8Array, k: number, p: bigint, q: bigint, words: Words): Uint8Array {
  const lanes = Math.ceil(bits.length / 8);
  const rest = k % 8 ? (1 << (k % 8)) - 1 : 255;
  const result = new Uint8Array(lanes * 8);
  let last = 0n;
  while (!(((p | q) >> last) & 1n)) last++;
  for (let lane = 0; lane < lanes; lane++) {
    const selected = fromBytes(bits.subarray(8 * lane, 8 * lane + 8));
    // What follows the row counts as the next row's bytes would: the number of words is that of the library.
    let undecided = 0n;
    for (let i = 7; i >= 0; i--) {
      const isLast = (8 * lane + i) % bits.length === bits.length - 1;
      undecided = (undecided << 8n) | BigInt(isLast ? rest : 255);
    }
    let below = 0n;
    for (let place = 63n; place >= last && undecided; place--) {
      const word = words.next();
      const own = (p >> place) & 1n ? selected : 0n;
      const other = (q >> place) & 1n ? low(~selected) : 0n;
      const threshold = own | other;
      below |= undecided & threshold & low(~word);
      undecided &= low(~(threshold ^ word));
    }
    result.set(toBytes(below, 8), 8 * lane);
  }
  return result.subarray(0, bits.length);
}

/** k noisy bits: the own one is set with P/2^64, every other one with Q/2^64. */
abstract class Unary implements Oracle {
  readonly width: number;

  protected constructor(
    readonly k: bigint,
    readonly p: bigint,
    readonly q: bigint,
    readonly coins: readonly Coin[],
  ) {
    must(k <= 1n << 22n, "Reports of this survey would be too long.");
    this.width = Math.ceil(Number(k) / 8);
  }

  randomize(code: bigint, words: Words): Uint8Array {
    const bits = new Uint8Array(this.width);
    bits[Number(code >> 3n)] = 1 << Number(code & 7n);
    return randomizeBits(bits, Number(this.k), this.p, this.q, words);
  }

  read(report: Uint8Array): Reading {
    const has = (code: bigint): boolean => ((report[Number(code >> 3n)]! >> Number(code & 7n)) & 1) === 1;
    let set = 0n;
    for (const byte of report) for (let bit = 0; bit < 8; bit++) set += BigInt((byte >> bit) & 1);
    const [p, q, others] = [this.p, this.q, this.k - 1n];
    const all = SCALE ** this.k;
    // With no bit set nothing is spoken for, with all set everything is.
    const likely = set ? p * q ** (set - 1n) * (SCALE - q) ** (this.k - set) : 0n;
    const unlikely = set <= others ? (SCALE - p) * q ** set * (SCALE - q) ** (others - set) : 0n;
    return { supports: has, likely: [likely, all], unlikely: [unlikely, all] };
  }
}

/** Optimised unary encoding: p = 1/2, q = 1/(e^epsilon + 1). */
export class OUE extends Unary {
  constructor(k: bigint, budget: Fraction) {
    const q = lieThreshold(budget, 1n);
    super(k, SCALE / 2n, q, [{ threshold: q, ratio: (at) => [SCALE - at, at], bolder: -1n, budget }]);
  }
}

/** Symmetric unary encoding: q = 1/(e^(epsilon/2) + 1), p = 1 - q. */
export class SUE extends Unary {
  constructor(k: bigint, budget: Fraction) {
    const q = lieThreshold(fraction(budget[0], 2n * budget[1]), 1n);
    const ratio = (at: bigint): Fraction => [(SCALE - at) ** 2n, at ** 2n];
    super(k, SCALE - q, q, [{ threshold: q, ratio, bolder: -1n, budget }]);
  }
}

const HALF = 1n << 32n;

/** Subset selection: a set of omega values that favours the true one. */
export class SubsetSelection implements Oracle {
  readonly width: number;
  readonly inclusion: bigint;
  readonly coins: readonly Coin[];

  constructor(
    readonly k: bigint,
    budget: Fraction,
    readonly omega: bigint,
  ) {
    must(omega >= 1n && omega < k, "omega must be in 1..k-1.");
    must(omega <= 1n << 18n, "Reports of this survey would be too long.");
    this.width = codeBytes(k) * Number(omega);
    this.inclusion = inclusionThreshold(budget, k, omega);
    const ratio = (p: bigint): Fraction => [p * (k - omega), (SCALE - p) * omega];
    this.coins = [{ threshold: this.inclusion, ratio, bolder: 1n, budget }];
  }

  randomize(code: bigint, words: Words): Uint8Array {
    return joined(this.subset(code, words).map((value) => toBytes(value, codeBytes(this.k))));
  }

  private subset(x: bigint, words: Words): bigint[] {
    const [k, omega] = [this.k, Number(this.omega)];
    const included = words.next() < this.inclusion;
    // Half a word per element, low half first; biased ones are replaced after all words of the report were drawn.
    const proposed: (bigint | undefined)[] = [];
    for (let i = 0, word = 0n; i < omega; i++) {
      word = i % 2 ? word >> 32n : words.next();
      const bound = k - this.omega + BigInt(i);
      const product = (word & (HALF - 1n)) * bound;
      proposed.push((product & (HALF - 1n)) < HALF % bound ? undefined : product >> 32n);
    }
    const drawn = proposed.map((t, i) => t ?? uniformBelow(words, k - this.omega + BigInt(i)));
    // Floyd: element i proposes t, and is the largest number that was possible if t is taken.
    const chosen = new Set<bigint>();
    for (let i = included ? 1 : 0; i < omega; i++) {
      const t = drawn[i]!;
      chosen.add(chosen.has(t) ? k - 1n - this.omega + BigInt(i) : t);
    }
    // The others are numbered 0..k-2. Small subsets keep their order; else number x stands for the value k - 1.
    const inOrder = omega <= 2 || 64n * this.omega * this.omega <= k;
    const value = (t: bigint): bigint => (inOrder ? (t >= x ? t + 1n : t) : t === x ? k - 1n : t);
    const values = [...chosen].map(value);
    if (included) values.push(x);
    return values.sort((a, b) => (a < b ? -1 : 1));
  }

  read(report: Uint8Array): Reading {
    const values = new Set(split(report, codeBytes(this.k)).map(fromBytes));
    const [p, k, omega] = [this.inclusion, this.k, this.omega];
    return {
      supports: (code) => values.has(code),
      likely: [p, SCALE * choose(k - 1n, omega - 1n)],
      unlikely: [SCALE - p, SCALE * choose(k - 1n, omega)],
    };
  }
}

/** Square wave: a report is one of k + 2b codes, of which 2b + 1, those near the answer, are likelier. */
export class SquareWave implements Oracle {
  readonly width: number;
  readonly far: bigint;
  readonly coins: readonly Coin[];
  private readonly near: bigint;

  constructor(
    readonly k: bigint,
    budget: Fraction,
    window: bigint,
  ) {
    must(k <= 4096n && window <= k, "A scale of this survey is too long.");
    const near = 2n * window + 1n;
    this.near = near;
    this.width = codeBytes(k + 2n * window);
    this.far = lieThreshold(budget, k - 1n, near);
    const ratio = (q: bigint): Fraction => [SCALE - (k - 1n) * q, near * q];
    this.coins = [{ threshold: this.far, ratio, bolder: -1n, budget }];
  }

  randomize(x: bigint, words: Words): Uint8Array {
    const [word, lies] = [words.next(), (this.k - 1n) * this.far];
    let report = word / this.far;
    if (word < lies) {
      if (report >= x) report += this.near;
    } else {
      const step = (word - lies) / ((SCALE - lies) / this.near);
      report = x + (step < this.near ? step : uniformBelow(words, this.near));
    }
    return toBytes(report, this.width);
  }

  read(report: Uint8Array): Reading {
    const y = fromBytes(report);
    return {
      supports: (x) => x <= y && y < x + this.near,
      likely: [SCALE - (this.k - 1n) * this.far, SCALE * this.near],
      unlikely: [this.far, SCALE],
    };
  }
}

/** Count-mean sketch: a public random hash function, and the noisy cell that it puts the answer into. */
export class CountMeanSketch implements Oracle {
  readonly width: number;
  readonly coins: readonly Coin[];
  private readonly response: GRR;

  constructor(
    readonly k: bigint,
    budget: Fraction,
    private readonly hashes: Hashes,
  ) {
    this.response = new GRR(hashes.m, budget);
    this.coins = this.response.coins;
    this.width = hashes.width;
  }

  randomize(code: bigint, words: Words): Uint8Array {
    const parameters = this.hashes.draw(words);
    return this.hashes.join(parameters, this.response.respond(this.hashes.cell(code, parameters), words));
  }

  read(report: Uint8Array): Reading {
    const [parameters, cell] = this.hashes.split(report);
    const chance = this.hashes.chance(parameters);
    const [p, q] = this.response.chances;
    return {
      supports: (code) => this.hashes.cell(code, parameters) === cell,
      likely: times(chance, [p, SCALE]),
      unlikely: times(chance, [q, SCALE]),
    };
  }
}
