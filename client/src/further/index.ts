// The second file of the client: mechanisms that few surveys use. It is made of what the first file hands to it.

import type { Fraction } from "../exact.js";
import type { Keys } from "../json.js";
import type { Oracle } from "../oracles.js";
import type { Kit, Mechanism } from "../records.js";
import { pivotCoded } from "./pivot.js";
import { CountMeanSketch, PrimeHashes, SpreadHashes } from "./sketch.js";

export interface Further {
  /** The oracle of a name with its other keys; undefined for a name that is not known here either. */
  oracle(name: string, keys: Keys, k: bigint, budget: Fraction): Oracle | undefined;
  /** The mechanism for records of a name with its other keys; undefined for a name that is not known here either. */
  record(name: string, keys: Keys, sizes: readonly bigint[], epsilon: Fraction): Mechanism | undefined;
}

export const further = (kit: Kit): Further => ({
  oracle: (name, keys, k, budget) => {
    if (name !== "CMS") return undefined;
    const [m, family] = [BigInt(keys.integer("m")), keys.text("family")];
    kit.need(family === "prime" || family === "spread", kit.unknown(family), "refused");
    return CountMeanSketch(kit, k, budget, family === "prime" ? PrimeHashes(kit, k, m) : SpreadHashes(kit, k, m));
  },
  record: (name, _, sizes, epsilon) => (name === "PivotCoded" ? pivotCoded(kit, sizes, epsilon) : undefined),
});
