// Mechanisms for records of several answers, and how a specification becomes a mechanism.

import { codeBytes, fromBytes, joined, toBytes } from "./bytes.js";
import {
  atMostExp,
  ceiling,
  type Coin,
  decimalText,
  type Fraction,
  fraction,
  fromNumber,
  less,
  lieThreshold,
  must,
  parseDecimal,
  Refusal,
  SCALE,
  secondThreshold,
  spent,
  times,
  toNumber,
  type Why,
} from "./exact.js";
import type { Further } from "./further/index.js";
import { type Json, Keys, whole } from "./json.js";
import {
  GRR,
  type Oracle,
  OUE,
  randomizeBits,
  type Reading,
  SubsetSelection,
  SUE,
} from "./oracles.js";
import { high, low, uniformBelow, uniformShare, type Words } from "./words.js";

/** A part of a report, which is about one attribute or about several together. */
export interface Part {
  /** The attributes. Codes of several attributes are combined, and the last attribute varies fastest. */
  readonly attributes: readonly number[];
  readonly reading: Reading;
}

/**
 * The answers of a record that a report is about: all of them; one, two, or one or two that are drawn; or one that the report
 * does not name.
 */
export type Drawn = "All" | "One" | "Two" | "Either" | "Hidden";

/** The ratios of chances that a guarantee states, if they are ratios of whole reports and not of one random draw. */
export interface Bounds {
  /** The ratio between any two records. */
  readonly whole: Fraction;
  /** The ratios between two records that differ in one attribute, for each attribute. */
  readonly attributes: readonly Fraction[];
}

/** Exact budgets of permanent responses, as a person's ledger has them (see `MemoBudget` of the library). */
export interface MemoBudget {
  readonly forever: string;
  readonly once: string;
  /** The amount that each further report adds; "" if it has no bound. */
  readonly step: string;
  /** Number of answers with a response of their own; 0 if the cells of a hash function have the responses. */
  readonly rows: number;
}

/** The permanent responses for all answers, which a device keeps for a mechanism that reports again and again. */
export interface Memoised {
  readonly budget: MemoBudget;
  /** The rows, drawn without looking at an answer. */
  draw(words: Words): Uint8Array[];
  /** Whether kept rows are valid. */
  fits(rows: readonly Uint8Array[]): boolean;
  report(rows: readonly Uint8Array[], code: bigint, words: Words): Uint8Array;
}

/** A row of the stated guarantee: epsilon, its status, and how it grows. */
export type Stated = readonly [Fraction, "exact" | "upper bound", "once" | "per report"];

/** A whole contributor's mechanism. */
export interface Mechanism {
  readonly drawn: Drawn;
  /** Whether every answer is kept or swapped for another answer. */
  readonly swaps: boolean;
  /** Number of answers of every attribute. */
  readonly sizes: readonly bigint[];
  /** The budget as declared. */
  readonly epsilon: Fraction;
  /** Bytes of a report, the same for everybody. */
  readonly width: number;
  readonly coins: readonly Coin[];
  /** The largest ratio of the chances of one report between any two contributors, exact. */
  readonly ratio: Fraction;
  readonly bounds?: Bounds;
  /** The budgets that protect a contributor who differs in one attribute, as the library states them. */
  readonly perAttribute: readonly Fraction[];
  /** The rows that its guarantee must state, if they are not only the row of one report. */
  readonly stated?: readonly Stated[];
  readonly memoised?: Memoised;
  randomize(codes: readonly bigint[], words: Words): Uint8Array;
  read(report: Uint8Array): readonly Part[];
}

/** The ratio that a coin's threshold has, at least one. */
function coinRatio({ ratio, threshold }: Coin): Fraction {
  const [n, d] = ratio(threshold);
  return n < d ? [d, n] : [n, d];
}

const largest = (coins: readonly Coin[]): Fraction =>
  coins.map(coinRatio).reduce((most, one) => (less(most, one) ? one : most));

const chance = (reading: Reading, by: Fraction): Reading => ({
  supports: reading.supports,
  likely: times(reading.likely, by),
  unlikely: times(reading.unlikely, by),
});

/** One attribute. */
function single(epsilon: Fraction, { k, width, coins, swaps = false, randomize, read }: Oracle): Mechanism {
  return {
    drawn: "All",
    swaps,
    sizes: [k],
    epsilon,
    width,
    coins,
    ratio: largest(coins),
    perAttribute: [epsilon],
    randomize: ([code], words) => randomize(code!, words),
    read: (report) => [{ attributes: [0], reading: read(report) }],
  };
}

/** Every attribute, each with an equal share of the budget. */
function split(sizes: readonly bigint[], epsilon: Fraction, grr: boolean): Mechanism {
  const [n, d] = spent(epsilon);
  const share = fraction(n, d * BigInt(sizes.length));
  const codes = grr ? sizes.map((k) => GRR(k, share)) : [];
  const bits = grr ? [] : sizes.map((k) => OUE(k, share));
  const oracles: readonly Oracle[] = grr ? codes : bits;
  // All codes have the type of the widest domain.
  const widest = Math.max(...oracles.map((one) => one.width));
  const widths = oracles.map((one) => (grr ? widest : one.width));
  const width = widths.reduce((sum, one) => sum + one, 0);
  const coins = oracles.flatMap((one) => one.coins);
  return {
    drawn: "All",
    swaps: grr,
    sizes,
    epsilon,
    width,
    coins,
    // The fraction is not reduced, because the product of several such ratios is long and is only compared.
    ratio: coins.map(coinRatio).reduce(([a, b], [c, d]) => [a * c, b * d]),
    perAttribute: sizes.map(() => share),
    randomize: (record, words) => {
      if (grr) return joined(codes.map((one, j) => toBytes(one.respond(record[j]!, words.next()), widest)));
      // All bits of all attributes are one run. It includes padding, which is cleared afterwards.
      const own = joined(bits.map((one, j) => one.own(record[j]!)));
      const noisy = randomizeBits(own, 8 * width, bits[0]!.p, bits[0]!.q, words);
      let end = 0;
      sizes.forEach((k, j) => {
        end += widths[j]!;
        if (k % 8n) noisy[end - 1]! &= (1 << Number(k % 8n)) - 1;
      });
      return noisy;
    },
    read: (report) => {
      let place = 0;
      return oracles.map((one, j) => {
        const part = report.subarray(place, place + one.width);
        place += widths[j]!;
        return { attributes: [j], reading: one.read(part) };
      });
    },
  };
}

/** A choice that a contributor may draw: the attributes, whose codes are combined, and the oracle that reports them. */
export type Choice = readonly [readonly number[], Oracle];

/**
 * One uniformly drawn pair of attributes, or one attribute alone, gets the whole budget. The report says which.
 *
 * An attribute is drawn alone if a word is below `alone`. Without pairs no word is drawn for this choice.
 */
function sampled(
  sizes: readonly bigint[],
  epsilon: Fraction,
  singles: readonly Oracle[],
  pairs: readonly Choice[] = [],
  alone = SCALE,
): Mechanism {
  const choices = [...pairs, ...(alone ? singles.map((one, j): Choice => [[j], one]) : [])];
  const head = codeBytes(BigInt(choices.length));
  const width = head + Math.max(...choices.map(([, one]) => one.width));
  const coins = choices.flatMap(([, one]) => one.coins);
  return {
    drawn: choices.length < 2 ? "All" : !pairs.length ? "One" : alone ? "Either" : "Two",
    swaps: choices.every(([, one]) => one.swaps),
    sizes,
    epsilon,
    width,
    coins,
    ratio: largest(coins),
    perAttribute: sizes.map(() => epsilon),
    randomize: (record, words) => {
      const lone = !pairs.length || (alone && words.next() < alone);
      const among = lone ? sizes.length : pairs.length;
      const choice = Number(uniformShare(words, BigInt(among), 1)) + (lone ? pairs.length : 0);
      const [attributes, one] = choices[choice]!;
      const code = attributes.reduce((sum, j) => sum * sizes[j]! + record[j]!, 0n);
      return joined([toBytes(BigInt(choice), head), one.randomize(code, words)], width);
    },
    read: (report) => {
      const choice = Number(fromBytes(report.subarray(0, head)));
      const [attributes, one] = choices[choice]!;
      const share: Fraction =
        choice < pairs.length ? [SCALE - alone, SCALE * BigInt(pairs.length)] : [alone, SCALE * BigInt(sizes.length)];
      return [{ attributes, reading: chance(one.read(report.subarray(head, head + one.width)), share) }];
    },
  };
}

const unknown = (name: string): string => `This page does not know the mechanism "${name}".`;

/** The parts of which the mechanisms of the second file are made, so that no code is in both files. */
export const KIT = {
  GRR,
  OUE,
  SCALE,
  SubsetSelection,
  atMostExp,
  ceiling,
  chance,
  codeBytes,
  decimalText,
  fraction,
  fromBytes,
  fromNumber,
  high,
  joined,
  largest,
  less,
  lieThreshold,
  low,
  // The type is that of a function that returns, because assertions may not be handed on.
  need: must as (holds: unknown, otherwise?: string, why?: Why) => void,
  parseDecimal,
  parts,
  sampled,
  /** The largest number of uniform integers below d that share a word. */
  share: (d: number): number => {
    let share = 1;
    while (share < 16 && BigInt(d) ** BigInt(share + 1) <= 1n << 48n) share++;
    return share;
  },
  randomizeBits,
  secondThreshold,
  spent,
  times,
  toBytes,
  toNumber,
  uniformBelow,
  uniformShare,
  unknown,
  whole,
  written,
};

export type Kit = typeof KIT;

/**
 * The second file: mechanisms that few surveys use, and the list of what this device has sent. It is in the same folder as this
 * file.
 */
export const second = (): Promise<typeof import("./further/index.js")> =>
  import("./further/index.js").catch(() => {
    throw new Refusal("A part of this page could not be loaded.", "unreachable");
  });

/** The mechanisms that few surveys use. They are loaded before a survey that uses one of them is shown. */
const further = async (): Promise<Further> => (await second()).further(KIT);

const domain = (k: number): bigint => {
  must(k >= 2 && k <= 2 ** 32);
  return BigInt(k);
};

/** The number of a specification, as documents write it. */
function written(text: string): Fraction {
  const number = parseDecimal(text);
  must(number && decimalText(number) === text);
  return number;
}

/** The declared budget of a specification, in [1e-6, 32]. */
function declared(keys: Keys, name = "epsilon"): Fraction {
  const epsilon = written(keys.text(name));
  must(epsilon[0] * 10n ** 6n >= epsilon[1] && epsilon[0] <= 32n * epsilon[1]);
  return epsilon;
}

async function oracle(name: string, keys: Keys, k: bigint, epsilon: Fraction): Promise<Oracle | undefined> {
  const budget = spent(epsilon);
  if (name === "GRR") return GRR(k, budget);
  if (name === "SUE") return SUE(k, budget);
  if (name === "OUE") return OUE(k, budget);
  if (name === "SubsetSelection") return SubsetSelection(k, budget, BigInt(keys.integer("omega")));
  return (await further()).oracle(name, keys, k, budget);
}

async function part(spec: Json, k: bigint, whole: Fraction): Promise<Oracle> {
  const keys = new Keys(spec);
  const [name, own, epsilon] = [keys.text("mechanism"), domain(keys.integer("k")), declared(keys)];
  must(own === k && epsilon[0] === whole[0] && epsilon[1] === whole[1]);
  const found = await oracle(name, keys, k, epsilon);
  must(found, unknown(name), "refused");
  keys.end();
  return found;
}

/** The oracles of all attributes, if a specification lists them. */
function parts(keys: Keys, sizes: readonly bigint[], epsilon: Fraction): Promise<Oracle[]> {
  const specs = keys.list("oracles");
  must(specs.length === sizes.length);
  return Promise.all(specs.map((spec, j) => part(spec, sizes[j]!, epsilon)));
}

/** The mechanism of a specification. It throws a refusal unless this client knows the mechanism in every detail. */
export async function mechanism(spec: Json): Promise<Mechanism> {
  const keys = new Keys(spec);
  const name = keys.text("mechanism");
  const found = keys.has("epsilon_forever") ? await again(name, keys) : await once(name, keys, declared(keys));
  must(found, unknown(name), "refused");
  keys.end();
  must(found.width <= 1 << 19);
  return found;
}

/** A mechanism that keeps permanent responses. */
async function again(name: string, keys: Keys): Promise<Mechanism | undefined> {
  const [forever, once] = [declared(keys, "epsilon_forever"), declared(keys, "epsilon_once")];
  must(!less(forever, once));
  return (await further()).memoised(name, keys, domain(keys.integer("k")), forever, once);
}

async function once(name: string, keys: Keys, epsilon: Fraction): Promise<Mechanism | undefined> {
  const one = keys.has("k") ? await oracle(name, keys, domain(keys.integer("k")), epsilon) : undefined;
  return one ? single(epsilon, one) : several(name, keys, epsilon);
}

async function several(name: string, keys: Keys, epsilon: Fraction): Promise<Mechanism | undefined> {
  if (!keys.has("sizes")) return undefined;
  const sizes = keys.list("sizes").map(whole).map(domain);
  must(sizes.length >= 1 && sizes.length <= 4096);
  if (name === "SMP[ADP]") return sampled(sizes, epsilon, await parts(keys, sizes, epsilon));
  if (name !== "SPL" && name !== "SMP") return (await further()).record(name, keys, sizes, epsilon);
  const through = keys.text("oracle");
  must(through === "GRR" || through === "OUE", unknown(through), "refused");
  if (name === "SPL") return split(sizes, epsilon, through === "GRR");
  const budget = spent(epsilon);
  return sampled(
    sizes,
    epsilon,
    sizes.map((k) => (through === "OUE" ? OUE(k, budget) : GRR(k, budget))),
  );
}
