// Memoised mechanisms: permanent responses for every answer, drawn once and kept, and a fresh report of one in each wave.

import type { Coin, Fraction } from "../exact.js";
import type { Keys } from "../json.js";
import type { Reading } from "../oracles.js";
import type { Kit, Mechanism, Memoised } from "../records.js";
import type { Words } from "../words.js";
import { PrimeHashes } from "./sketch.js";

/** One member of the family: how it stores, and how it reports what it stored. */
interface Member {
  readonly width: number;
  readonly rows: bigint;
  readonly coins: readonly Coin[];
  /** Largest ratio of a report between two permanent responses of one code or bit; none if reports copy. */
  readonly step: readonly [Fraction, bigint] | undefined;
  /** The permanent responses of all answers or cells. */
  memo(words: Words): Uint8Array[];
  /** The row of an answer. */
  place(rows: readonly Uint8Array[], code: bigint): Uint8Array;
  /** One permanent response of one answer, as it is drawn if nothing is kept. */
  stored(code: bigint, words: Words): Uint8Array;
  again(row: Uint8Array, words: Words): Uint8Array;
  read(report: Uint8Array): Reading;
}

const squared = (scale: bigint): bigint => scale * scale;

/** The second threshold with its proof: both stages together have a ratio of at most e^once, and less noise has more. */
function second({ SCALE, secondThreshold }: Kit, first: Coin, own: bigint, other: bigint, others: bigint, once: Fraction): readonly [bigint, Coin] {
  const all = squared(SCALE);
  const threshold = secondThreshold(own, other, once, others);
  const ratio = (at: bigint): Fraction => {
    const q = other * SCALE + at * (own - other);
    return [all - others * q, q];
  };
  // Without noise of its own, the second stage copies. Then the first stage must keep the smaller budget, too.
  return [threshold, threshold ? { threshold, ratio, bolder: -1n, budget: once } : { ...first, budget: once }];
}

function codes(kit: Kit, k: bigint, forever: Fraction, once: Fraction): Member & { respond(code: bigint, words: Words): bigint; repeat(code: bigint, words: Words): bigint; chances: readonly [bigint, bigint] } {
  const { GRR, SCALE, fromBytes, toBytes } = kit;
  const first = GRR(k, forever);
  const [own, other] = first.chances;
  const [lie, coin] = second(kit, first.coins[0]!, own, other, k - 1n, once);
  const lies = (k - 1n) * lie;
  const q = other * SCALE + lie * (own - other);
  const all = squared(SCALE);
  const respond = (code: bigint, words: Words): bigint => first.respond(code, words.next());
  const repeat = (code: bigint, words: Words): bigint => {
    if (!lie) return code;
    const word = words.next();
    return word >= lies ? code : (code + 1n + word / lie) % k;
  };
  return {
    width: first.width,
    rows: k,
    coins: [first.coins[0]!, coin],
    step: lie ? [[SCALE - lies, lie], 1n] : undefined,
    chances: [all - (k - 1n) * q, q],
    respond,
    repeat,
    memo: (words) => Array.from({ length: Number(k) }, (_, v) => toBytes(respond(BigInt(v), words), first.width)),
    place: (rows, code) => rows[Number(code)]!,
    stored: (code, words) => toBytes(respond(code, words), first.width),
    again: (row, words) => toBytes(repeat(fromBytes(row), words), first.width),
    read: (report) => ({ ...first.read(report), likely: [all - (k - 1n) * q, all], unlikely: [q, all] }),
  };
}

function bits(kit: Kit, k: bigint, forever: Fraction, once: Fraction): Member {
  const { OUE, SCALE, need, randomizeBits } = kit;
  need(k <= 1024n);
  const first = OUE(k, forever);
  const [flip, coin] = second(kit, first.coins[0]!, SCALE - first.q, first.q, 1n, once);
  const all = squared(SCALE);
  const q = first.q * SCALE + flip * (SCALE - 2n * first.q);
  const stored = (code: bigint, words: Words): Uint8Array => first.randomize(code, words);
  return {
    width: first.width,
    rows: k,
    coins: [first.coins[0]!, coin],
    step: flip ? [[SCALE - flip, flip], k] : undefined,
    memo: (words) => Array.from({ length: Number(k) }, (_, v) => stored(BigInt(v), words)),
    place: (rows, code) => rows[Number(code)]!,
    stored,
    again: (row, words) => (flip ? randomizeBits(row, Number(k), SCALE - flip, flip, words) : row.slice()),
    read: (report) => {
      let set = 0n;
      for (const byte of report) for (let bit = 0; bit < 8; bit++) set += BigInt((byte >> bit) & 1);
      // These are twice the chance over twice the whole, because a bit that the report speaks for is set with chance 1/2.
      const whole = 2n * all ** k;
      return {
        ...first.read(report),
        likely: [set ? all * q ** (set - 1n) * (all - q) ** (k - set) : 0n, whole],
        unlikely: [set < k ? all * q ** set * (all - q) ** (k - 1n - set) : 0n, whole],
      };
    },
  };
}

function hashed(kit: Kit, k: bigint, g: bigint, forever: Fraction, once: Fraction): Member {
  const { SCALE, need } = kit;
  need(g >= 2n && g <= 1n << 20n);
  const hashes = PrimeHashes(kit, k, g);
  const cells = codes(kit, g, forever, once);
  const all = squared(SCALE);
  return {
    ...cells,
    width: hashes.width,
    memo: (words) => {
      const parameters = hashes.draw(words);
      return Array.from({ length: Number(g) }, (_, cell) => hashes.join(parameters, cells.respond(BigInt(cell), words)));
    },
    place: (rows, code) => rows[Number(hashes.cell(code, hashes.split(rows[0]!)[0]))]!,
    stored: (code, words) => {
      const parameters = hashes.draw(words);
      return hashes.join(parameters, cells.respond(hashes.cell(code, parameters), words));
    },
    again: (row, words) => {
      const [parameters, cell] = hashes.split(row);
      return hashes.join(parameters, cells.repeat(cell, words));
    },
    read: (report) => {
      const [parameters, cell] = hashes.split(report);
      const [n, d] = hashes.chance(parameters);
      return {
        supports: (code) => hashes.cell(code, parameters) === cell,
        likely: [n * cells.chances[0], d * all],
        unlikely: [n * cells.chances[1], d * all],
      };
    },
  };
}

/**
 * The amount that each further report adds to the bound between any two histories. It is a decimal that is proved not to be
 * below ln(p2/q2).
 */
function above({ atMostExp, decimalText, fromNumber, times, toNumber }: Kit, [ratio, often]: readonly [Fraction, bigint]): string {
  let bound = Math.log(toNumber(ratio));
  for (let more = Math.max(bound, 1) * 2 ** -50; !atMostExp(ratio, fromNumber(bound)); more *= 2) bound += more;
  return decimalText(times(fromNumber(bound), [often, 1n]));
}

export function memoised(kit: Kit, name: string, keys: Keys, k: bigint, forever: Fraction, once: Fraction): Mechanism | undefined {
  const { decimalText, fromBytes, largest, need, spent } = kit;
  const budgets = [spent(forever), spent(once)] as const;
  const found =
    name === "MemoisedGRR"
      ? codes(kit, k, ...budgets)
      : name === "MemoisedOUE"
        ? bits(kit, k, ...budgets)
        : name === "MemoisedHash"
          ? hashed(kit, k, BigInt(keys.integer("g")), ...budgets)
          : undefined;
  if (!found) return undefined;
  need(found.rows <= 1n << 20n);
  const kept: Memoised = {
    budget: {
      forever: decimalText(forever),
      once: decimalText(once),
      step: found.step ? above(kit, found.step) : "",
      // Answers that change at the same times may change cells at different times.
      rows: name === "MemoisedHash" ? 0 : Number(found.rows),
    },
    draw: found.memo,
    fits: (rows) => BigInt(rows.length) === found.rows && rows.every((row) => row.length === found.width && !(name === "MemoisedGRR" && fromBytes(row) >= k)),
    report: (rows, code, words) => found.again(found.place(rows, code), words),
  };
  return {
    drawn: "All",
    swaps: name !== "MemoisedOUE",
    sizes: [k],
    epsilon: forever,
    width: found.width,
    coins: found.coins,
    ratio: largest([found.coins[0]!]),
    perAttribute: [forever],
    stated: [
      [once, "exact", "once"],
      [forever, "exact", "once"],
      [forever, "upper bound", "per report"],
      [once, "upper bound", "per report"],
    ],
    memoised: kept,
    randomize: ([code], words) => found.again(found.stored(code!, words), words),
    read: (report) => [{ attributes: [0], reading: found.read(report) }],
  };
}
