// Mechanisms for later rounds: one answer goes through randomised response with the whole budget, and is hidden among codes
// that are drawn from public tables. Corr-RR draws these codes from the randomised answer, RS+RFD from priors. Whatever the
// tables are, epsilon is kept: given which answer was drawn, everything else is drawn without looking at the other answers.

import type { Fraction } from "../exact.js";
import type { Json, Keys, NumberToken } from "../json.js";
import type { CodeOracle } from "../oracles.js";
import type { Bounds, Kit, Mechanism } from "../records.js";
import type { Words } from "../words.js";

/** Largest numbers of attributes, reports and cells for which the client computes the ratio that Python states. */
const [ATTRIBUTES, REPORTS, CELLS] = [64, 1 << 13, 1 << 18];

/** The chance, over 2^64, that attribute j gets `code` if attribute s was drawn and reported as `given`. */
type Cell = (s: number, j: number, given: bigint, code: bigint) => bigint;

const sum = (numbers: readonly bigint[]): bigint => numbers.reduce((total, one) => total + one, 0n);

/** A probability as documents write it: Python's text of a double, or "a/b" or a decimal if no double is written the same. */
function probability({ decimalText, need, parseDecimal, toNumber, written }: Kit, value: Json | undefined): Fraction {
  if (typeof value === "string") {
    const number = written(value);
    const nearest = parseDecimal(String(toNumber(number)))!;
    need(number[0] >= 0n && number[0] <= number[1] && decimalText(nearest) !== value);
    return number;
  }
  const text = (value as NumberToken | null | undefined)?.text;
  const x = Number(text);
  need(x >= 0 && x <= 1 && text === (x % 1 ? (x < 1e-4 ? x.toExponential().replace(/-(\d)$/, "-0$1") : String(x)) : `${x}.0`));
  return parseDecimal(text!)!;
}

const rows = ({ need }: Kit, value: Json, length: number): readonly Json[] => {
  need(Array.isArray(value) && value.length === length);
  return value as Json[];
};

/** Cumulative thresholds over 2^64 of weights that are divided by their sum. */
function thresholds(scale: bigint, weights: readonly bigint[]): bigint[] {
  const total = sum(weights);
  let part = 0n;
  return weights.map((one) => (scale * (part += one)) / total);
}

/** The first code whose cumulative threshold a word is below. */
const fallen = (limits: readonly bigint[], word: bigint): bigint => BigInt(limits.findIndex((limit) => word < limit));

/** The chance of a code. */
const cellOf = (limits: readonly bigint[], code: bigint): bigint => limits[Number(code)]! - (limits[Number(code) - 1] ?? 0n);

/** The chances of a report's other codes, over 2^(64 (d - 1)), for every attribute that may have been drawn. */
const weights = (cell: Cell, codes: readonly bigint[]): bigint[] =>
  codes.map((given, s) => codes.reduce((product, code, j) => (j === s ? product : product * cell(s, j, given, code)), 1n));

function hidden(
  kit: Kit,
  sizes: readonly bigint[],
  epsilon: Fraction,
  oracles: readonly CodeOracle[],
  cell: Cell,
  bounds: Bounds,
  draw: (record: readonly bigint[], words: Words) => bigint[],
): Mechanism {
  const { SCALE, fromBytes, joined, largest, toBytes } = kit;
  const d = sizes.length;
  const column = Math.max(...oracles.map((one) => one.width));
  const coins = oracles.flatMap((one) => one.coins);
  return {
    drawn: d > 1 ? "Hidden" : "All",
    swaps: true,
    sizes,
    epsilon,
    width: column * d,
    coins,
    // Whichever attribute is drawn, its oracle has the largest ratio. A mixture has no larger one.
    ratio: largest(coins),
    bounds,
    perAttribute: sizes.map(() => epsilon),
    randomize: (record, words) => joined(draw(record, words).map((code) => toBytes(code, column))),
    read: (report) => {
      const codes = sizes.map((_, j) => fromBytes(report.subarray(j * column, (j + 1) * column)));
      const made = weights(cell, codes);
      const whole = BigInt(d) * SCALE ** BigInt(d);
      // A report tells most about one answer if the other answers are not those reported.
      const least = sum(made.map((one, j) => one * oracles[j]!.chances[1]));
      return codes.map((code, j) => {
        const [p, q] = oracles[j]!.chances;
        return {
          attributes: [j],
          reading: { supports: (one) => one === code, likely: [least + (p - q) * made[j]!, whole], unlikely: [least, whole] },
        };
      });
    },
  };
}

// ---------------------------------------------------------------- RS+RFD

/** One answer is drawn uniformly. The others are drawn from public priors. */
export function fakes(kit: Kit, keys: Keys, sizes: readonly bigint[], epsilon: Fraction): Mechanism {
  const { GRR, SCALE, fraction, less, need, spent, uniformShare } = kit;
  const d = sizes.length;
  need(d <= ATTRIBUTES);
  const oracles = sizes.map((k) => GRR(k, spent(epsilon)));
  const limits = rows(kit, keys.list("priors"), d).map((prior, j) => {
    const numbers = rows(kit, prior, Number(sizes[j])).map((one) => probability(kit, one));
    const common = numbers.reduce((whole, [, one]) => whole * fraction(whole, one)[1], 1n);
    const parts = numbers.map(([a, b]) => (a * common) / b);
    const off = sum(parts) - common;
    need((off < 0n ? -off : off) * 10n ** 9n <= common);
    return thresholds(SCALE, parts);
  });
  // This says how much likelier a report is as an answer than as a fake, for the rarest fake and the commonest.
  const evidence = limits.map((own, j) => {
    const cells = own.map((_, code) => cellOf(own, BigInt(code))).sort((a, b) => (a < b ? -1 : 1));
    const [p, q] = oracles[j]!.chances;
    const [rare, common] = [cells.find((one) => one)!, cells[cells.length - 1]!];
    return { shows: !cells[0], alone: [p, q] as Fraction, choices: [[p, q, rare], [p, q, common]] as const, least: [q, common] as Fraction };
  });
  const own = (one: (typeof evidence)[number]): Pair[] => one.choices.map(([p, q, fake]) => [[p, fake], [q, fake]]);
  const all = quotient(kit, evidence.map(own));
  const bounds = {
    whole: evidence.reduce((most, { shows, alone }) => (shows && less(most, alone) ? alone : most), all),
    attributes: evidence.map((one, j) => {
      if (one.shows) return one.alone;
      const others = total(evidence.filter((_, i) => i !== j).map(({ least }) => least));
      return quotient(kit, [own(one), [[others, others]]]);
    }),
  };
  return hidden(kit, sizes, epsilon, oracles, (_, j, __, code) => cellOf(limits[j]!, code), bounds, (record, words) => {
    const report = limits.map((one) => fallen(one, words.next()));
    const j = Number(uniformShare(words, BigInt(d), 1));
    report[j] = oracles[j]!.respond(record[j]!, words.next());
    return report;
  });
}

/** The terms that a choice adds to the numerator and to the denominator. */
type Pair = readonly [Fraction, Fraction];

/** A sum that is not reduced, because it is only compared. */
const total = (numbers: readonly Fraction[]): Fraction => numbers.reduce(([a, b], [c, d]): Fraction => (b === d ? [a + c, b] : [a * d + c * b, b * d]), [0n, 1n]);

/** The largest quotient of two sums with one choice per part, by Dinkelbach's iteration. */
function quotient({ fraction, less }: Kit, parts: readonly (readonly Pair[])[]): Fraction {
  for (let ratio: Fraction = [0n, 1n]; ; ) {
    const worth = ([[a, b], [c, d]]: Pair): Fraction => [a * d * ratio[1] - ratio[0] * c * b, b * d * ratio[1]];
    const chosen = parts.map((part) => part.reduce((best, one) => (less(worth(best), worth(one)) ? one : best)));
    const [[a, b], [c, d]] = [total(chosen.map(([high]) => high)), total(chosen.map(([, low]) => low))];
    const found = fraction(a * d, b * c);
    if (!less(ratio, found)) return found;
    ratio = found;
  }
}

// ---------------------------------------------------------------- Corr-RR

/** One answer is drawn uniformly. The others are copies of its report, each with a chance of its own. */
export function copies(kit: Kit, keys: Keys, sizes: readonly bigint[], epsilon: Fraction): Mechanism {
  const { GRR, SCALE, need, spent, uniformShare } = kit;
  const d = sizes.length;
  need(d <= ATTRIBUTES);
  const oracles = sizes.map((k) => GRR(k, spent(epsilon)));
  const chances = rows(kit, keys.list("copy_probabilities"), d).map((row, j) => {
    const found = rows(kit, row, d).map((one) => probability(kit, one));
    need(found[j]![0] === found[j]![1]);
    return found;
  });
  const maps = alignment(kit, keys.list("alignment"), sizes);
  const k = sizes[0]!;
  const alike = !maps.size && sizes.every((one) => one === k);
  const share = kit.share(d);
  const pivotOf = (words: Words): number => Number(uniformShare(words, BigInt(d), share));
  if (alike) {
    const most = (SCALE - 1n) / (k - 1n);
    const lies = chances.map((row) =>
      row.map(([a, b]) => {
        const lie = ((b - a) * SCALE) / (b * (k - 1n));
        return lie < most ? lie : most;
      }),
    );
    const cell: Cell = (s, j, given, code) => (given === code ? SCALE - (k - 1n) * lies[j]![s]! : lies[j]![s]!);
    return hidden(kit, sizes, epsilon, oracles, cell, bounded(kit, oracles, cell, patterns(d, Number(k)), true), (record, words) => {
      const s = pivotOf(words);
      const told = oracles[s]!.respond(record[s]!, words.next());
      const report = sizes.map(() => told);
      for (let t = 1; t < d; t++) {
        const [j, word] = [(s + t) % d, words.next()];
        const lie = lies[j]![s]!;
        if (word < (k - 1n) * lie) report[j] = (told + 1n + word / lie) % k;
      }
      return report;
    });
  }
  need(sum(sizes) ** 2n - sum(sizes.map((one) => one * one)) <= BigInt(CELLS));
  // The entry [pivot][target][the pivot's report] has cumulative thresholds.
  const tables = sizes.map((from, s) =>
    sizes.map((to, j) => {
      if (s === j) return [];
      const inward = maps.get(`${s} ${j}`) ?? (maps.has(`${j} ${s}`) || from < to ? undefined : contiguous(from, to));
      const codes = inward ?? maps.get(`${j} ${s}`) ?? contiguous(to, from);
      const groups = inward ? to : from;
      const [a, b] = chances[j]![s]!;
      // These are the weights of the code that is copied, and of any other code.
      const [copied, other] = [a * (groups - 1n), b - a];
      const weight = (one: bigint, two: bigint): bigint => (one === two ? copied : other);
      if (inward) return inward.map((group) => thresholds(SCALE, Array.from({ length: Number(to) }, (_, code) => weight(group, BigInt(code)))));
      const members = Array.from({ length: Number(from) }, (_, group) => BigInt(codes.filter((one) => one === BigInt(group)).length));
      const whole = members.reduce((product, one) => (product % one ? product * one : product), 1n);
      return members.map((_, given) => thresholds(SCALE, codes.map((group) => (weight(BigInt(given), group) * whole) / members[Number(group)]!)));
    }),
  );
  const cell: Cell = (s, j, given, code) => cellOf(tables[s]![j]![Number(given)]!, code);
  return hidden(kit, sizes, epsilon, oracles, cell, bounded(kit, oracles, cell, every(sizes), false), (record, words) => {
    const s = pivotOf(words);
    const told = oracles[s]!.respond(record[s]!, words.next());
    // Every column has a word, also the pivot's column.
    return sizes.map((_, j) => {
      const word = words.next();
      return j === s ? told : fallen(tables[s]![j]![Number(told)]!, word);
    });
  });
}

/** Contiguous groups of k codes whose sizes differ by at most one. */
const contiguous = (k: bigint, groups: bigint): bigint[] => Array.from({ length: Number(k) }, (_, code) => (BigInt(code) * groups) / k);

/** Public maps of a larger domain onto a smaller one, by "larger smaller". */
function alignment({ need, whole }: Kit, given: readonly Json[], sizes: readonly bigint[]): Map<string, bigint[]> {
  const found = new Map<string, bigint[]>();
  for (const entry of given) {
    need(Array.isArray(entry) && entry.length === 3 && Array.isArray(entry[2]));
    const [a, b, map] = entry as [Json, Json, Json[]];
    const [larger, smaller, codes] = [whole(a), whole(b), map.map(whole).map(BigInt)];
    const [from, to] = [sizes[larger], sizes[smaller]];
    need(from && to && larger !== smaller && from >= to && BigInt(codes.length) === from);
    need(codes.every((one) => one < to!) && BigInt(new Set(codes).size) === to);
    need(!found.has(`${larger} ${smaller}`) && !found.has(`${smaller} ${larger}`));
    found.set(`${larger} ${smaller}`, codes);
  }
  return found;
}

/** One report for every way in which d codes below k can be equal; undefined for too many. */
function patterns(d: number, k: number): number[][] | undefined {
  let found = [[0]];
  for (let j = 1; j < d; j++) {
    found = found.flatMap((row) => Array.from({ length: Math.min(Math.max(...row) + 2, k) }, (_, code) => [...row, code]));
    if (found.length > REPORTS) return undefined;
  }
  return found;
}

/** All reports; undefined for too many. */
const every = (sizes: readonly bigint[]): number[][] | undefined =>
  sizes.reduce((product, k) => product * k, 1n) > BigInt(REPORTS)
    ? undefined
    : sizes.reduce((found: number[][], k) => found.flatMap((row) => Array.from({ length: Number(k) }, (_, code) => [...row, code])), [[]]);

/**
 * The largest ratios of the chances of one report between any two records, and between two that differ in one attribute.
 *
 * A report is likeliest for a record that equals it, and least likely for one that differs everywhere. Floats find the report
 * that tells most, among the reports that may. Its ratio is exact. If there are too many reports, an oracle's ratio bounds
 * them.
 */
function bounded({ largest }: Kit, oracles: readonly CodeOracle[], cell: Cell, reports: number[][] | undefined, alike: boolean): Bounds {
  const most = largest(oracles.flatMap((one) => one.coins));
  if (!reports) return { whole: most, attributes: oracles.map(({ chances: [p, q] }) => [p, q]) };
  const chances = oracles.map((one) => one.chances);
  const float = (chance: bigint): number => Number(chance) / 2 ** 64;
  // The entry [pivot][target] has the target's number of codes here, and the chances of every given code and code.
  const tables = oracles.map(({ k: from }, s) =>
    oracles.map(({ k: to }, j) => {
      const codes = (k: bigint): number[] => Array.from({ length: alike ? 2 : Number(k) }, (_, code) => code);
      const made = s === j ? [] : codes(from).flatMap((given) => codes(to).map((code) => float(cell(s, j, BigInt(given), BigInt(code)))));
      return [codes(to).length, made] as const;
    }),
  );
  const close = (s: number, j: number, given: number, code: number): number => {
    const [width, made] = tables[s]![j]!;
    return made[alike ? Number(given !== code) : given * width + code]!;
  };
  const [low, gain] = [chances.map(([, q]) => float(q)), chances.map(([p, q]) => float(p - q))];
  const best = oracles.map(() => ({ gain: -1, report: reports[0]! }));
  const all = { gain: -1, report: reports[0]! };
  const better = (one: { gain: number; report: number[] }, gain: number, report: number[]): void => {
    if (gain > one.gain) Object.assign(one, { gain, report });
  };
  for (const report of reports) {
    let [rest, more] = [0, 0];
    const gains = report.map((given, s) => {
      let weight = 1;
      for (let j = 0; j < report.length; j++) if (j !== s) weight *= close(s, j, given, report[j]!);
      rest += weight * low[s]!;
      more += weight * gain[s]!;
      return weight * gain[s]!;
    });
    better(all, more / rest, report);
    gains.forEach((one, j) => better(best[j]!, one / rest, report));
  }
  const exact = (report: number[], told: (s: number) => boolean): Fraction => {
    const made = weights(cell, report.map(BigInt));
    return [sum(made.map((one, s) => one * chances[s]![told(s) ? 0 : 1])), sum(made.map((one, s) => one * chances[s]![1]))];
  };
  return {
    whole: alike ? most : exact(all.report, () => true),
    attributes: best.map(({ report }, j) => exact(report, (s) => s === j)),
  };
}
