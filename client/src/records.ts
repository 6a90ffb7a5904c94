// Mechanisms for records of several answers, and how a specification becomes one.

import { type Coin, type Fraction, fraction, must, parseDecimal, SCALE, spent, times } from "./exact.js";
import { type Json, Keys, NumberToken } from "./json.js";
import {
  codeBytes,
  CountMeanSketch,
  fromBytes,
  GRR,
  joined,
  type Oracle,
  OUE,
  randomizeBits,
  type Reading,
  SquareWave,
  SubsetSelection,
  SUE,
  toBytes,
} from "./oracles.js";
import { PrimeHashes, SpreadHashes } from "./sketch.js";
import { high, low, uniformShare, type Words } from "./words.js";

/** What a report says, about one attribute or about several together. */
export interface Part {
  /** The attributes; with several, codes are combined, the last attribute fastest. */
  readonly attributes: readonly number[];
  readonly reading: Reading;
}

/** A whole contributor's mechanism. */
export interface Mechanism {
  /** Number of answers of every attribute. */
  readonly sizes: readonly bigint[];
  /** The budget as declared. */
  readonly epsilon: Fraction;
  /** Bytes of a report, the same for everybody. */
  readonly width: number;
  readonly coins: readonly Coin[];
  /** The largest ratio of the chances of one report between any two contributors, exact. */
  readonly ratio: Fraction;
  /** What a contributor who differs in one attribute is protected by, as the library states it. */
  readonly perAttribute: readonly Fraction[];
  randomize(codes: readonly bigint[], words: Words): Uint8Array;
  read(report: Uint8Array): readonly Part[];
}

/** The ratio that a coin's threshold has, at least one. */
export function coinRatio(coin: Coin): Fraction {
  const [n, d] = coin.ratio(coin.threshold);
  return n < d ? [d, n] : [n, d];
}

const largest = (ratios: readonly Fraction[]): Fraction =>
  ratios.reduce((most, one) => (most[0] * one[1] < one[0] * most[1] ? one : most));

class One implements Mechanism {
  readonly sizes: readonly bigint[];
  readonly width: number;
  readonly coins: readonly Coin[];
  readonly perAttribute: readonly Fraction[];

  constructor(
    readonly epsilon: Fraction,
    private readonly oracle: Oracle,
  ) {
    this.sizes = [oracle.k];
    this.width = oracle.width;
    this.coins = oracle.coins;
    this.perAttribute = [epsilon];
  }

  get ratio(): Fraction {
    return largest(this.coins.map(coinRatio));
  }

  randomize(codes: readonly bigint[], words: Words): Uint8Array {
    return this.oracle.randomize(codes[0]!, words);
  }

  read(report: Uint8Array): readonly Part[] {
    return [{ attributes: [0], reading: this.oracle.read(report) }];
  }
}

const chance = (reading: Reading, by: Fraction): Reading => ({
  supports: reading.supports,
  likely: times(reading.likely, by),
  unlikely: times(reading.unlikely, by),
});

/** Every attribute, each with an equal share of the budget. */
class SPL implements Mechanism {
  readonly width: number;
  readonly coins: readonly Coin[];
  readonly perAttribute: readonly Fraction[];
  private readonly oracles: readonly (GRR | OUE)[];
  private readonly widths: readonly number[];

  constructor(
    readonly sizes: readonly bigint[],
    readonly epsilon: Fraction,
    oracle: string,
  ) {
    const t = spent(epsilon);
    const share = fraction(t[0], t[1] * BigInt(sizes.length));
    this.oracles = sizes.map((k) => (oracle === "GRR" ? new GRR(k, share) : new OUE(k, share)));
    // Codes lie in columns of the widest domain's type.
    const widest = Math.max(...this.oracles.map((one) => one.width));
    this.widths = this.oracles.map((one) => (oracle === "GRR" ? widest : one.width));
    this.width = this.widths.reduce((sum, one) => sum + one, 0);
    this.coins = this.oracles.flatMap((one) => one.coins);
    this.perAttribute = sizes.map(() => share);
  }

  get ratio(): Fraction {
    // Unreduced: the product of several such ratios is long, and only compared.
    return this.coins.map(coinRatio).reduce(([a, b], [c, d]) => [a * c, b * d]);
  }

  randomize(codes: readonly bigint[], words: Words): Uint8Array {
    const first = this.oracles[0]!;
    if (first instanceof GRR) {
      return joined(
        this.oracles.map((one, j) => toBytes((one as GRR).respond(codes[j]!, words), this.widths[j]!)),
      );
    }
    // All bits of all attributes are one run, padding included, which is cleared afterwards.
    const own = codes.map((code, j) => {
      const bits = new Uint8Array(this.widths[j]!);
      bits[Number(code >> 3n)] = 1 << Number(code & 7n);
      return bits;
    });
    const noisy = randomizeBits(joined(own), 8 * this.width, first.p, first.q, words);
    let end = 0;
    this.sizes.forEach((k, j) => {
      end += this.widths[j]!;
      if (k % 8n) noisy[end - 1]! &= (1 << Number(k % 8n)) - 1;
    });
    return noisy;
  }

  read(report: Uint8Array): readonly Part[] {
    let place = 0;
    return this.oracles.map((one, j) => {
      const part = report.subarray(place, place + one.width);
      place += this.widths[j]!;
      return { attributes: [j], reading: one.read(part) };
    });
  }
}

/** One uniformly drawn attribute with the whole budget, and which one it is. */
class SMP implements Mechanism {
  readonly sizes: readonly bigint[];
  readonly width: number;
  readonly coins: readonly Coin[];
  readonly perAttribute: readonly Fraction[];
  private readonly head: number;

  constructor(
    readonly epsilon: Fraction,
    private readonly oracles: readonly Oracle[],
  ) {
    this.sizes = oracles.map((one) => one.k);
    this.head = codeBytes(BigInt(oracles.length));
    this.width = this.head + Math.max(...oracles.map((one) => one.width));
    this.coins = oracles.flatMap((one) => one.coins);
    this.perAttribute = oracles.map(() => epsilon);
  }

  get ratio(): Fraction {
    return largest(this.coins.map(coinRatio));
  }

  randomize(codes: readonly bigint[], words: Words): Uint8Array {
    const j = uniformShare(words, BigInt(this.oracles.length), 1);
    const report = this.oracles[Number(j)]!.randomize(codes[Number(j)]!, words);
    return joined([toBytes(j, this.head), report], this.width);
  }

  read(report: Uint8Array): readonly Part[] {
    const j = Number(fromBytes(report.subarray(0, this.head)));
    const oracle = this.oracles[j]!;
    const reading = oracle.read(report.subarray(this.head, this.head + oracle.width));
    return [{ attributes: [j], reading: chance(reading, [1n, BigInt(this.oracles.length)]) }];
  }
}

/** One uniformly drawn pair of attributes, or one alone, with the whole budget; the report says which. */
class PairSample implements Mechanism {
  readonly width: number;
  readonly coins: readonly Coin[];
  readonly perAttribute: readonly Fraction[];
  private readonly choices: readonly (readonly [readonly number[], Oracle])[];
  private readonly pairs: number;
  private readonly head: number;

  constructor(
    readonly sizes: readonly bigint[],
    readonly epsilon: Fraction,
    singles: readonly Oracle[],
    omegas: readonly bigint[],
    /** An attribute is drawn alone if a word is below this. */
    private readonly alone: bigint,
  ) {
    const budget = spent(epsilon);
    const pairs = sizes.flatMap((_, i) => sizes.slice(i + 1).map((_, j) => [i, i + 1 + j] as const));
    must(pairs.length && omegas.length === pairs.length, "This survey must have one subset size for every pair of questions.");
    const tables = pairs.map(([i, j], g) => [[i, j], new SubsetSelection(sizes[i]! * sizes[j]!, budget, omegas[g]!)] as const);
    this.pairs = pairs.length;
    this.choices = [...tables, ...(alone ? singles.map((one, j) => [[j], one] as const) : [])];
    this.head = codeBytes(BigInt(this.choices.length));
    this.width = this.head + Math.max(...this.choices.map(([, one]) => one.width));
    this.coins = this.choices.flatMap(([, one]) => one.coins);
    this.perAttribute = sizes.map(() => epsilon);
  }

  get ratio(): Fraction {
    return largest(this.coins.map(coinRatio));
  }

  randomize(codes: readonly bigint[], words: Words): Uint8Array {
    const single = this.alone && words.next() < this.alone;
    const among = single ? this.sizes.length : this.pairs;
    const choice = Number(uniformShare(words, BigInt(among), 1)) + (single ? this.pairs : 0);
    const [attributes, one] = this.choices[choice]!;
    const code = attributes.reduce((sum, j) => sum * this.sizes[j]! + codes[j]!, 0n);
    return joined([toBytes(BigInt(choice), this.head), one.randomize(code, words)], this.width);
  }

  read(report: Uint8Array): readonly Part[] {
    const choice = Number(fromBytes(report.subarray(0, this.head)));
    const [attributes, one] = this.choices[choice]!;
    const share: Fraction =
      choice < this.pairs
        ? [SCALE - this.alone, SCALE * BigInt(this.pairs)]
        : [this.alone, SCALE * BigInt(this.sizes.length)];
    return [{ attributes, reading: chance(one.read(report.subarray(this.head, this.head + one.width)), share) }];
  }
}

/** One attribute with the whole budget, inside a message with a code of every attribute. */
class PivotCoded implements Mechanism {
  readonly width: number;
  readonly coins: readonly Coin[];
  readonly perAttribute: readonly Fraction[];
  private readonly oracles: readonly GRR[];
  private readonly groups: bigint;
  private readonly column: number;

  constructor(
    readonly sizes: readonly bigint[],
    readonly epsilon: Fraction,
  ) {
    const budget = spent(epsilon);
    this.oracles = sizes.map((k) => new GRR(k, budget));
    this.groups = sizes.reduce((least, k) => (k < least ? k : least));
    this.column = Math.max(...this.oracles.map((one) => one.width));
    this.width = this.column * sizes.length;
    this.coins = this.oracles.flatMap((one) => one.coins);
    this.perAttribute = sizes.map(() => epsilon);
  }

  get ratio(): Fraction {
    return largest(this.coins.map(coinRatio));
  }

  private group(code: bigint, k: bigint): bigint {
    return (code * this.groups) / k;
  }

  /** The first code of a group among k codes, and how many it has. */
  private stretch(group: bigint, k: bigint): readonly [bigint, bigint] {
    const start = (at: bigint): bigint => (at * k + this.groups - 1n) / this.groups;
    return [start(group), start(group + 1n) - start(group)];
  }

  randomize(codes: readonly bigint[], words: Words): Uint8Array {
    const d = this.sizes.length;
    let share = 1;
    while (share < 16 && BigInt(d) ** BigInt(share + 1) <= 1n << 48n) share++;
    const pivot = Number(uniformShare(words, BigInt(d), share));
    const alike = this.sizes.every((k) => k === this.sizes[0]);
    const draw = (): bigint[] => this.sizes.map(() => words.next());
    let drawn = draw();
    const told = this.oracles[pivot]!.answer(codes[pivot]!, drawn[0]!);
    const group = this.group(told, this.sizes[pivot]!);
    for (;;) {
      let [wrong, next] = [false, 1];
      const report = this.sizes.map((k, j) => {
        if (j === pivot) return told;
        // Over equal domains attribute 0 copies the pivot, and every other attribute has its own place among the words.
        if (alike && j === 0) return told;
        const [first, own] = this.stretch(group, k);
        const bound = j === 0 ? own : k - own;
        const product = drawn[alike ? j : next++]! * bound;
        wrong ||= low(product) < SCALE % bound;
        const choice = high(product);
        return j === 0 ? choice + first : choice >= first ? choice + own : choice;
      });
      if (!wrong) return joined(report.map((value) => toBytes(value, this.column)));
      drawn = draw();
    }
  }

  read(report: Uint8Array): readonly Part[] {
    const codes = this.sizes.map((_, j) => fromBytes(report.subarray(j * this.column, (j + 1) * this.column)));
    const groups = codes.map((code, j) => this.group(code, this.sizes[j]!));
    const pivot = Math.max(0, groups.indexOf(groups[0]!, 1));
    // Besides the pivot's: the chance of the other codes, uniform within the rule.
    let others = BigInt(this.sizes.length);
    this.sizes.forEach((k, j) => {
      if (j === pivot) return;
      const own = this.stretch(groups[pivot]!, k)[1];
      others *= j === 0 ? own : k - own;
    });
    const oracle = this.oracles[pivot]!;
    const reading = oracle.read(toBytes(codes[pivot]!, oracle.width));
    return [{ attributes: [pivot], reading: chance(reading, [1n, others]) }];
  }
}

const domain = (k: number): bigint => {
  must(k >= 2 && k <= 2 ** 32, "A question of this survey has an impossible number of answers.");
  return BigInt(k);
};

/** The declared budget of a specification, in [1e-6, 32]. */
function declared(keys: Keys): Fraction {
  const epsilon = parseDecimal(keys.text("epsilon"));
  must(
    epsilon && epsilon[0] * 10n ** 6n >= epsilon[1] && epsilon[0] <= 32n * epsilon[1],
    "The epsilon of this survey is not between 1e-6 and 32.",
  );
  return epsilon;
}

function oracle(name: string, keys: Keys, k: bigint, epsilon: Fraction): Oracle | undefined {
  const budget = spent(epsilon);
  if (name === "GRR") return new GRR(k, budget);
  if (name === "SUE") return new SUE(k, budget);
  if (name === "OUE") return new OUE(k, budget);
  if (name === "SubsetSelection") return new SubsetSelection(k, budget, BigInt(keys.integer("omega")));
  if (name === "SquareWave") return new SquareWave(k, budget, BigInt(keys.integer("window")));
  if (name !== "CMS") return undefined;
  const [m, family] = [BigInt(keys.integer("m")), keys.text("family")];
  must(family === "prime" || family === "spread", `This browser does not know the hash family "${family}".`);
  return new CountMeanSketch(k, budget, family === "prime" ? new PrimeHashes(k, m) : new SpreadHashes(k, m));
}

const unknown = (name: string): string => `This browser does not know the mechanism "${name}".`;

function part(spec: Json, k: bigint, whole: Fraction): Oracle {
  const keys = new Keys(spec, "An oracle");
  const [name, own, epsilon] = [keys.text("mechanism"), domain(keys.integer("k")), declared(keys)];
  must(own === k && epsilon[0] === whole[0] && epsilon[1] === whole[1], "An oracle of this survey is for another question.");
  const found = oracle(name, keys, k, epsilon);
  must(found, unknown(name));
  keys.end();
  return found;
}

/** The mechanism of a specification; a refusal if it is not one that this client knows in every detail. */
export function mechanism(spec: Json): Mechanism {
  const keys = new Keys(spec, "The mechanism of this survey");
  const [name, epsilon] = [keys.text("mechanism"), declared(keys)];
  const found = keys.has("k") ? single(name, keys, epsilon) : several(name, keys, epsilon);
  must(found, unknown(name));
  keys.end();
  must(found.width <= 1 << 19, "Reports of this survey would be too long.");
  return found;
}

function single(name: string, keys: Keys, epsilon: Fraction): Mechanism | undefined {
  const found = oracle(name, keys, domain(keys.integer("k")), epsilon);
  return found && new One(epsilon, found);
}

const wholes = (list: readonly Json[]): number[] =>
  list.map((item) => {
    must(item instanceof NumberToken && /^\d{1,10}$/.test(item.text), "A number of this survey is not whole.");
    return Number(item.text);
  });

function several(name: string, keys: Keys, epsilon: Fraction): Mechanism | undefined {
  if (!keys.has("sizes")) return undefined;
  const sizes = wholes(keys.list("sizes")).map(domain);
  must(sizes.length >= 1 && sizes.length <= 4096, "This survey has no questions, or too many.");
  if (name === "PivotCoded") return new PivotCoded(sizes, epsilon);
  if (name === "SMP[ADP]" || name === "PairSample") {
    const specs = keys.list("oracles");
    must(specs.length === sizes.length, "This survey must have one oracle for every question.");
    const oracles = specs.map((spec, j) => part(spec, sizes[j]!, epsilon));
    if (name === "SMP[ADP]") return new SMP(epsilon, oracles);
    const singles = parseDecimal(keys.text("singles"));
    must(singles && singles[0] >= 0n && singles[0] < singles[1], "The share of single questions is not below one.");
    const omegas = wholes(keys.list("omegas"));
    must(sizes.every((a, i) => sizes.every((b, j) => i === j || a * b <= 4096n)), "A pair of questions has too many answers.");
    return new PairSample(sizes, epsilon, oracles, omegas.map(BigInt), (singles[0] * SCALE) / singles[1]);
  }
  if (name !== "SPL" && name !== "SMP") return undefined;
  const through = keys.text("oracle");
  must(through === "GRR" || through === "OUE", `This browser does not know the oracle "${through}".`);
  if (name === "SPL") return new SPL(sizes, epsilon, through);
  const budget = spent(epsilon);
  if (through === "OUE") return new SMP(epsilon, sizes.map((k) => new OUE(k, budget)));
  return new SMP(epsilon, sizes.map((k) => new GRR(k, budget)));
}
