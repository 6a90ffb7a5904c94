// The count-mean sketch, and its public hash functions: two families, drawn exactly by their distributions.

import type { Fraction } from "../exact.js";
import type { Oracle } from "../oracles.js";
import type { Kit } from "../records.js";
import type { Words } from "../words.js";

/** A family of hash functions from 0..k-1 to m cells. A function is a list of parameters. */
export interface Hashes {
  readonly m: bigint;
  readonly width: number;
  draw(words: Words): readonly bigint[];
  cell(code: bigint, parameters: readonly bigint[]): bigint;
  /** Chance with which a hash function is drawn. */
  chance(parameters: readonly bigint[]): Fraction;
  join(parameters: readonly bigint[], cell: bigint): Uint8Array;
  split(report: Uint8Array): readonly [readonly bigint[], bigint];
}

const HALF = 1n << 32n;

/** Count-mean sketch: a report is a public random hash function, and the noisy cell of the answer under it. */
export function CountMeanSketch({ GRR, SCALE }: Kit, k: bigint, budget: Fraction, hashes: Hashes): Oracle {
  const { coins, chances, respond } = GRR(hashes.m, budget);
  return {
    k,
    width: hashes.width,
    coins,
    randomize: (code, words) => {
      const parameters = hashes.draw(words);
      return hashes.join(parameters, respond(hashes.cell(code, parameters), words.next()));
    },
    read: (report) => {
      const [parameters, cell] = hashes.split(report);
      const [n, d] = hashes.chance(parameters);
      return {
        supports: (code) => hashes.cell(code, parameters) === cell,
        likely: [n * chances[0], d * SCALE],
        unlikely: [n * chances[1], d * SCALE],
      };
    },
  };
}

/** ((a0 + a1 x) mod P) mod m, P the smallest prime >= max(k, 7m). */
export function PrimeHashes({ codeBytes, fromBytes, joined, need, toBytes, uniformBelow }: Kit, k: bigint, m: bigint): Hashes {
  need(m >= 2n && m <= HALF);
  const prime = smallestPrime(k > 7n * m ? k : 7n * m);
  const wide = prime < HALF ? 4 : 8;
  return {
    m,
    width: 2 * wide + codeBytes(m),
    draw: (words) => {
      if (wide === 4) {
        const word = words.next();
        const products = [(word & (HALF - 1n)) * prime, (word >> 32n) * prime];
        if (products.every((product) => (product & (HALF - 1n)) >= HALF % prime)) return products.map((one) => one >> 32n);
      }
      const a0 = uniformBelow(words, prime);
      return [a0, uniformBelow(words, prime)];
    },
    cell: (code, [a0, a1]) => ((a0! + a1! * code) % prime) % m,
    chance: () => [1n, prime ** 2n],
    join: ([a0, a1], cell) => joined([toBytes(a0!, wide), toBytes(a1!, wide), toBytes(cell, codeBytes(m))]),
    split: (report) => {
      const part = (from: number, to?: number): bigint => fromBytes(report.subarray(from, to));
      return [[part(0, wide), part(wide, 2 * wide)], part(2 * wide)];
    },
  };
}

function smallestPrime(minimum: bigint): bigint {
  while (!isPrime(minimum)) minimum++;
  return minimum;
}

/** Miller and Rabin's test with twelve bases, which has no exception below 3e24. */
function isPrime(number: bigint): boolean {
  const bases = [2n, 3n, 5n, 7n, 11n, 13n, 17n, 19n, 23n, 29n, 31n, 37n];
  if (bases.some((base) => number % base === 0n)) return bases.includes(number);
  let [odd, twos] = [number - 1n, 0];
  for (; odd % 2n === 0n; odd /= 2n) twos++;
  return bases.every((base) => {
    let power = 1n;
    for (let [square, left] = [base, odd]; left; left >>= 1n) {
      if (left & 1n) power = (power * square) % number;
      square = (square * square) % number;
    }
    let passes = power === 1n || power === number - 1n;
    for (let i = 1; i < twos && !passes; i++) {
      power = (power * power) % number;
      passes = power === number - 1n;
    }
    return passes;
  });
}

interface Level {
  readonly row: bigint;
  readonly degree: bigint;
  /** The field's polynomial, its leading term included. */
  readonly polynomial: bigint;
}

/** Spread: m = 2^l cells, subspaces of F_2^b that meet in zero; see the library's `families/spread.py`. */
export function SpreadHashes({ fromBytes, need, toBytes, uniformBelow }: Kit, k: bigint, m: bigint): Hashes {
  need(m >= 2n && m <= 65536n && !(m & (m - 1n)));
  const cellBits = bitLength(m) - 1n;
  let bits = bitLength(k - 1n);
  if (bits < cellBits) bits = cellBits;
  if (cellBits + 1n < bits && bits < 2n * cellBits) bits = 2n * cellBits;
  const levels: Level[] = [];
  let rows = 0n;
  for (let left = bits; ; left -= cellBits) {
    const isLast = left < 2n * cellBits;
    const degree = isLast ? left : left - cellBits;
    levels.push({ row: rows, degree, polynomial: BigInt(IRREDUCIBLE[Number(degree) - 1]!) | (1n << degree) });
    rows += 1n << degree;
    if (isLast) break;
  }
  const last = levels[levels.length - 1]!;
  const domain = 1n << bits;
  const width = rows * m <= HALF ? 4 : 8;
  return {
    m,
    width,
    draw: (words) => {
      const narrow = (1n << last.degree) - 1n;
      const point = uniformBelow(words, domain - 1n);
      return [point < narrow ? point + last.row + 1n : (point - narrow) / (m - 1n)];
    },
    cell: (x, [row]) => {
      let i = 0;
      for (; i + 1 < levels.length && row! >= levels[i + 1]!.row; i++) x >>= cellBits;
      const level = levels[i]!;
      let [w, cell] = [row! - level.row, 0n];
      if (level !== last) {
        cell = x & (m - 1n);
        x >>= cellBits;
      }
      for (let j = 0n; j < cellBits; j++) {
        cell ^= parity(w & x) << j;
        w <<= 1n;
        if (w >> level.degree) w ^= level.polynomial;
      }
      return cell;
    },
    chance: ([row]) => [row! >= last.row ? 1n : m - 1n, domain - 1n],
    join: ([row], cell) => toBytes(row! * m + cell, width),
    split: (report) => {
      const value = fromBytes(report);
      return [[value / m], value % m];
    },
  };
}

const bitLength = (n: bigint): bigint => BigInt(n ? n.toString(2).length : 0);

function parity(n: bigint): bigint {
  for (let width = 32n; width; width >>= 1n) n ^= n >> width;
  return n & 1n;
}

/**
 * For degrees 1 to 32, the irreducible polynomial over F_2 with the smallest value, without its leading term; bit i is the
 * coefficient of x^i. A test compares them with those that the library finds.
 */
export const IRREDUCIBLE = [1, 3, 3, 3, 5, 3, 3, 27, 3, 9, 5, 9, 27, 33, 3, 43, 9, 9, 39, 9, 5, 3, 33, 27, 9, 27, 39, 3, 5, 3, 9, 141];
