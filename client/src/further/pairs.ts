// One pair of attributes, or one alone.

import type { Fraction } from "../exact.js";
import type { Keys } from "../json.js";
import type { Choice, Kit, Mechanism } from "../records.js";

export async function pairSample(kit: Kit, keys: Keys, sizes: readonly bigint[], epsilon: Fraction): Promise<Mechanism> {
  const { SCALE, SubsetSelection, need, parts, sampled, spent, whole, written } = kit;
  const singles = written(keys.text("singles"));
  need(singles[0] >= 0n && singles[0] < singles[1]);
  const omegas = keys.list("omegas").map(whole);
  need(sizes.length <= 256);
  const pairs = sizes.flatMap((a, i) =>
    sizes.slice(i + 1).map((b, j): Choice => {
      need(a * b <= 4096n && omegas.length);
      return [[i, i + 1 + j], SubsetSelection(a * b, spent(epsilon), BigInt(omegas.shift()!))];
    }),
  );
  need(pairs.length && !omegas.length);
  return sampled(sizes, epsilon, await parts(keys, sizes, epsilon), pairs, (singles[0] * SCALE) / singles[1]);
}
