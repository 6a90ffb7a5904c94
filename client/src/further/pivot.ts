// The pivot code.

import type { Fraction } from "../exact.js";
import type { Kit, Mechanism } from "../records.js";

/** One attribute gets the whole budget, inside a message with a code of every attribute. */
export function pivotCoded({ GRR, SCALE, ceiling, chance, fromBytes, high, joined, largest, low, spent, share: shareOf, toBytes, uniformShare }: Kit, sizes: readonly bigint[], epsilon: Fraction): Mechanism {
  const oracles = sizes.map((k) => GRR(k, spent(epsilon)));
  const coins = oracles.flatMap((one) => one.coins);
  const d = sizes.length;
  const groups = sizes.reduce((least, k) => (k < least ? k : least));
  const column = Math.max(...oracles.map((one) => one.width));
  const group = (code: bigint, k: bigint): bigint => (code * groups) / k;
  const start = (at: bigint, k: bigint): bigint => ceiling(at * k, groups);
  /** Number of codes of an attribute in a group. */
  const inside = (at: bigint, k: bigint): bigint => start(at + 1n, k) - start(at, k);
  /** Number of codes among which an attribute that is not the pivot is drawn. */
  const bound = (j: number, at: bigint): bigint => {
    const own = inside(at, sizes[j]!);
    return j ? sizes[j]! - own : own;
  };
  const share = shareOf(d);
  const alike = sizes.every((k) => k === sizes[0]);
  return {
    drawn: d > 1 ? "One" : "All",
    swaps: true,
    sizes,
    epsilon,
    width: column * d,
    coins,
    ratio: largest(coins),
    perAttribute: sizes.map(() => epsilon),
    randomize: (record, words) => {
      const pivot = Number(uniformShare(words, BigInt(d), share));
      const draw = (): bigint[] => sizes.map(() => words.next());
      let drawn = draw();
      const told = oracles[pivot]!.respond(record[pivot]!, drawn[0]!);
      const at = group(told, sizes[pivot]!);
      for (;;) {
        let [wrong, next] = [false, 1];
        const report = sizes.map((k, j) => {
          // Over equal domains attribute 0 copies the pivot, and every other attribute has its own word.
          if (j === pivot || (alike && !j)) return told;
          const product = drawn[alike ? j : next++]! * bound(j, at);
          wrong ||= low(product) < SCALE % bound(j, at);
          const [choice, first] = [high(product), start(at, k)];
          return j === 0 ? choice + first : choice >= first ? choice + inside(at, k) : choice;
        });
        if (!wrong) return joined(report.map((value) => toBytes(value, column)));
        drawn = draw();
      }
    },
    read: (report) => {
      const codes = sizes.map((_, j) => fromBytes(report.subarray(j * column, (j + 1) * column)));
      const told = codes.map((code, j) => group(code, sizes[j]!));
      const pivot = Math.max(0, told.indexOf(told[0]!, 1));
      // This is the chance of the codes besides the pivot's, which are uniform within the rule.
      const others = sizes.reduce((product, _, j) => (j === pivot ? product : product * bound(j, told[pivot]!)), BigInt(d));
      const oracle = oracles[pivot]!;
      return [{ attributes: [pivot], reading: chance(oracle.read(toBytes(codes[pivot]!, oracle.width)), [1n, others]) }];
    },
  };
}
