// Frequency oracles report one answer, an integer below k. They use words in the order of the Python library.

import { codeBytes, fromBytes, joined, toBytes } from "./bytes.js";
import {
  type Coin,
  type Fraction,
  fraction,
  inclusionThreshold,
  lieThreshold,
  must,
  SCALE,
} from "./exact.js";
import { low, uniformBelow, type Words } from "./words.js";

/**
 * What the bytes of a report say about an answer. They come from some answers with one chance, and from all other answers with
 * another chance.
 */
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
  /** Whether a report is one answer: the contributor's own, or another answer in its place. */
  readonly swaps?: boolean;
  randomize(code: bigint, words: Words): Uint8Array;
  read(report: Uint8Array): Reading;
}

/** n choose r. */
function choose(n: bigint, r: bigint): bigint {
  let result = 1n;
  for (let i = 1n; i <= r; i++) result = (result * (n - r + i)) / i;
  return result;
}

/** An oracle whose reports are one code each. */
export interface CodeOracle extends Oracle {
  /** The code that a word makes of an answer. */
  respond(code: bigint, word: bigint): bigint;
  /** Chances over 2^64 of the contributor's own code, and of any other code. */
  readonly chances: readonly [bigint, bigint];
}

/**
 * Randomised response reports the truth if the word is at least (k-1) Q. Otherwise the word says which other value is reported.
 */
export function GRR(k: bigint, budget: Fraction): CodeOracle {
  must(k * k * budget[1] <= budget[0] * SCALE);
  const width = codeBytes(k);
  const lie = lieThreshold(budget, k - 1n);
  const [p, lies] = [SCALE - (k - 1n) * lie, (k - 1n) * lie];
  const respond = (code: bigint, word: bigint): bigint => (word >= lies ? code : (code + 1n + word / lie) % k);
  return {
    k,
    width,
    chances: [p, lie],
    coins: [{ threshold: lie, ratio: (q) => [SCALE - (k - 1n) * q, q], bolder: -1n, budget }],
    respond,
    swaps: true,
    randomize: (code, words) => toBytes(respond(code, words.next()), width),
    read: (report) => {
      const value = fromBytes(report);
      return { supports: (code) => code === value, likely: [p, SCALE], unlikely: [lie, SCALE] };
    },
  };
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
    // Padding after the row counts as the next row's bytes would, so that the number of words is that of the library.
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

/** An oracle whose reports are k bits. */
export interface BitOracle extends Oracle {
  readonly p: bigint;
  readonly q: bigint;
  /** The bits of an answer before they are randomised. */
  own(code: bigint): Uint8Array;
}

/** k noisy bits: the contributor's own bit is set with P/2^64, and every other bit with Q/2^64. */
function unary(k: bigint, p: bigint, q: bigint, coin: Coin): BitOracle {
  must(k <= 1n << 22n);
  const width = Math.ceil(Number(k) / 8);
  const own = (code: bigint): Uint8Array => {
    const bits = new Uint8Array(width);
    bits[Number(code >> 3n)] = 1 << Number(code & 7n);
    return bits;
  };
  return {
    k,
    width,
    p,
    q,
    coins: [coin],
    own,
    randomize: (code, words) => randomizeBits(own(code), Number(k), p, q, words),
    read: (report) => {
      let set = 0n;
      for (const byte of report) for (let bit = 0; bit < 8; bit++) set += BigInt((byte >> bit) & 1);
      const all = SCALE ** k;
      return {
        supports: (code) => ((report[Number(code >> 3n)]! >> Number(code & 7n)) & 1) === 1,
        // A report without set bits speaks for no answer, and a report with all bits set speaks for all.
        likely: [set ? p * q ** (set - 1n) * (SCALE - q) ** (k - set) : 0n, all],
        unlikely: [set < k ? (SCALE - p) * q ** set * (SCALE - q) ** (k - 1n - set) : 0n, all],
      };
    },
  };
}

/** Optimised unary encoding: p = 1/2, q = 1/(e^epsilon + 1). */
export function OUE(k: bigint, budget: Fraction): BitOracle {
  const q = lieThreshold(budget, 1n);
  return unary(k, SCALE / 2n, q, { threshold: q, ratio: (at) => [SCALE - at, at], bolder: -1n, budget });
}

/** Symmetric unary encoding: q = 1/(e^(epsilon/2) + 1), p = 1 - q. */
export function SUE(k: bigint, budget: Fraction): BitOracle {
  const q = lieThreshold(fraction(budget[0], 2n * budget[1]), 1n);
  const ratio = (at: bigint): Fraction => [(SCALE - at) ** 2n, at ** 2n];
  return unary(k, SCALE - q, q, { threshold: q, ratio, bolder: -1n, budget });
}

const HALF = 1n << 32n;

/** Subset selection: a set of omega values that favours the true one. */
export function SubsetSelection(k: bigint, budget: Fraction, omega: bigint): Oracle {
  must(omega >= 1n && omega < k && omega <= 1n << 18n);
  const size = Number(omega);
  const inclusion = inclusionThreshold(budget, k, omega);
  const ratio = (p: bigint): Fraction => [p * (k - omega), (SCALE - p) * omega];

  const subset = (x: bigint, words: Words): bigint[] => {
    const included = words.next() < inclusion;
    // Each element has half a word, low half first. Biased halves are replaced after all words of the report were drawn.
    const proposed: (bigint | undefined)[] = [];
    for (let i = 0, word = 0n; i < size; i++) {
      word = i % 2 ? word >> 32n : words.next();
      const bound = k - omega + BigInt(i);
      const product = (word & (HALF - 1n)) * bound;
      proposed.push((product & (HALF - 1n)) < HALF % bound ? undefined : product >> 32n);
    }
    const drawn = proposed.map((t, i) => t ?? uniformBelow(words, k - omega + BigInt(i)));
    // This is Floyd's algorithm: element i proposes t. If t is already taken, the element is the largest number that was
    // possible.
    const chosen = new Set<bigint>();
    for (let i = included ? 1 : 0; i < size; i++) {
      const t = drawn[i]!;
      chosen.add(chosen.has(t) ? k - 1n - omega + BigInt(i) : t);
    }
    // The other values are numbered 0..k-2. Small subsets keep the order of values. In larger subsets, number x means the value
    // k - 1.
    const inOrder = size <= 2 || 64n * omega * omega <= k;
    const values = [...chosen].map((t) => (inOrder ? (t >= x ? t + 1n : t) : t === x ? k - 1n : t));
    if (included) values.push(x);
    return values.sort((a, b) => (a < b ? -1 : 1));
  };

  return {
    k,
    width: codeBytes(k) * size,
    coins: [{ threshold: inclusion, ratio, bolder: 1n, budget }],
    randomize: (code, words) => joined(subset(code, words).map((value) => toBytes(value, codeBytes(k)))),
    read: (report) => {
      const width = codeBytes(k);
      const values = new Set(Array.from({ length: size }, (_, i) => fromBytes(report.subarray(i * width, (i + 1) * width))));
      return {
        supports: (code) => values.has(code),
        likely: [inclusion, SCALE * choose(k - 1n, omega - 1n)],
        unlikely: [SCALE - inclusion, SCALE * choose(k - 1n, omega)],
      };
    },
  };
}
