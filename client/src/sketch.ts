// Public hash functions of the count-mean sketch: two families, drawn exactly by their laws.

import { type Fraction, must, SCALE } from "./exact.js";
import { codeBytes, fromBytes, joined, toBytes } from "./oracles.js";
import { uniformBelow, type Words } from "./words.js";

/** A family of hash functions from 0..k-1 to m cells; one of them is a list of parameters. */
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

/** ((a0 + a1 x) mod P) mod m, P the smallest prime >= max(k, 7m). */
export class PrimeHashes implements Hashes {
  readonly prime: bigint;
  readonly width: number;
  private readonly wide: number;

  constructor(
    k: bigint,
    readonly m: bigint,
  ) {
    must(m >= 2n && m <= HALF, "m must be in 2..2^32.");
    this.prime = smallestPrime(k > 7n * m ? k : 7n * m);
    this.wide = this.prime < HALF ? 4 : 8;
    this.width = 2 * this.wide + codeBytes(m);
  }

  draw(words: Words): readonly bigint[] {
    const prime = this.prime;
    if (this.wide === 4) {
      const word = words.next();
      const products = [(word & (HALF - 1n)) * prime, (word >> 32n) * prime];
      if (products.every((product) => (product & (HALF - 1n)) >= HALF % prime)) return products.map((one) => one >> 32n);
    }
    const a0 = uniformBelow(words, prime);
    return [a0, uniformBelow(words, prime)];
  }

  cell(code: bigint, [a0, a1]: readonly bigint[]): bigint {
    return ((a0! + a1! * code) % this.prime) % this.m;
  }

  chance(): Fraction {
    return [1n, this.prime ** 2n];
  }

  join([a0, a1]: readonly bigint[], cell: bigint): Uint8Array {
    return joined([toBytes(a0!, this.wide), toBytes(a1!, this.wide), toBytes(cell, codeBytes(this.m))]);
  }

  split(report: Uint8Array): readonly [readonly bigint[], bigint] {
    const [a, b] = [this.wide, 2 * this.wide];
    return [[fromBytes(report.subarray(0, a)), fromBytes(report.subarray(a, b))], fromBytes(report.subarray(b))];
  }
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
export class SpreadHashes implements Hashes {
  readonly width: number;
  private readonly bits: bigint;
  private readonly levels: readonly Level[];
  private readonly rows: bigint;
  private readonly cellBits: bigint;

  constructor(
    k: bigint,
    readonly m: bigint,
  ) {
    must(m >= 2n && m <= 65536n && !(m & (m - 1n)), "m must be a power of two up to 2^16.");
    const cellBits = bitLength(m) - 1n;
    this.cellBits = cellBits;
    let bits = bitLength(k - 1n);
    if (bits < cellBits) bits = cellBits;
    if (cellBits + 1n < bits && bits < 2n * cellBits) bits = 2n * cellBits;
    this.bits = bits;
    const levels: Level[] = [];
    let row = 0n;
    for (let left = bits; ; left -= cellBits) {
      const isLast = left < 2n * cellBits;
      const degree = isLast ? left : left - cellBits;
      levels.push({ row, degree, polynomial: smallestIrreducible(degree) });
      row += 1n << degree;
      if (isLast) break;
    }
    this.levels = levels;
    this.rows = row;
    this.width = row * m <= HALF ? 4 : 8;
  }

  private get last(): Level {
    return this.levels[this.levels.length - 1]!;
  }

  draw(words: Words): readonly bigint[] {
    const narrow = (1n << this.last.degree) - 1n;
    const point = uniformBelow(words, (1n << this.bits) - 1n);
    return [point < narrow ? point + this.last.row + 1n : (point - narrow) / (this.m - 1n)];
  }

  cell(code: bigint, [row]: readonly bigint[]): bigint {
    const shift = this.cellBits;
    let [x, i] = [code, 0];
    for (; i + 1 < this.levels.length && row! >= this.levels[i + 1]!.row; i++) x >>= shift;
    const level = this.levels[i]!;
    let w = row! - level.row;
    let cell = 0n;
    if (level !== this.last) {
      cell = x & (this.m - 1n);
      x >>= shift;
    }
    for (let j = 0n; j < shift; j++) {
      cell ^= parity(w & x) << j;
      w <<= 1n;
      if (w >> level.degree) w ^= level.polynomial;
    }
    return cell;
  }

  chance([row]: readonly bigint[]): Fraction {
    return [row! >= this.last.row ? 1n : this.m - 1n, (1n << this.bits) - 1n];
  }

  join([row]: readonly bigint[], cell: bigint): Uint8Array {
    return toBytes(row! * this.m + cell, this.width);
  }

  split(report: Uint8Array): readonly [readonly bigint[], bigint] {
    const value = fromBytes(report);
    must(value < this.rows * this.m && value < SCALE, "This is no report of this survey.");
    return [[value / this.m], value % this.m];
  }
}

const bitLength = (n: bigint): bigint => BigInt(n ? n.toString(2).length : 0);

function parity(n: bigint): bigint {
  for (let width = 32n; width; width >>= 1n) n ^= n >> width;
  return n & 1n;
}

/** The irreducible polynomial over F_2 with the smallest value; bit i is the coefficient of x^i. */
function smallestIrreducible(degree: bigint): bigint {
  let candidate = (1n << degree) | 1n;
  while (!isIrreducible(candidate, degree)) candidate += 2n;
  return candidate;
}

/** Rabin's test. */
function isIrreducible(polynomial: bigint, degree: bigint): boolean {
  if (degree === 1n) return true;
  const powers: bigint[] = [];
  let power = 2n;
  for (let i = 0n; i < degree; i++) {
    power = squared(power, polynomial, degree);
    powers.push(power);
  }
  if (power !== 2n) return false;
  for (let q = 2n; q <= degree; q++) {
    // Divisors that are no primes ask for less than primes do.
    if (degree % q === 0n && common(polynomial, powers[Number(degree / q) - 1]! ^ 2n) !== 1n) return false;
  }
  return true;
}

function squared(a: bigint, modulus: bigint, degree: bigint): bigint {
  let product = 0n;
  for (let [b, shifted] = [a, a]; b; b >>= 1n) {
    if (b & 1n) product ^= shifted;
    shifted <<= 1n;
    if (shifted >> degree) shifted ^= modulus;
  }
  return product;
}

function common(a: bigint, b: bigint): bigint {
  while (b) {
    while (bitLength(a) >= bitLength(b)) a ^= b << (bitLength(a) - bitLength(b));
    [a, b] = [b, a];
  }
  return a;
}
