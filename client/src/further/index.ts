// The second file of the client: mechanisms that few surveys use, made of the parts that the first file hands over, and the
// search for a counted report.

import type { Fraction } from "../exact.js";
import type { Keys } from "../json.js";
import type { Oracle } from "../oracles.js";
import type { Kit, Mechanism } from "../records.js";
import { copies, fakes } from "./hidden.js";
import { memoised } from "./memoised.js";
import { pairSample } from "./pairs.js";
import { pivotCoded } from "./pivot.js";
import { CountMeanSketch, PrimeHashes, SpreadHashes } from "./sketch.js";
import { SquareWave } from "./wave.js";

export { panel } from "./ledger.js";
export { looker, withLeaf } from "./receipts.js";

export interface Further {
  /** The oracle of a name with its other keys; undefined for a name that is not known here either. */
  oracle(name: string, keys: Keys, k: bigint, budget: Fraction): Oracle | undefined;
  /** The mechanism for records of a name with its other keys; undefined for a name that is not known here either. */
  record(name: string, keys: Keys, sizes: readonly bigint[], epsilon: Fraction): Mechanism | Promise<Mechanism> | undefined;
  /** The memoised mechanism of a name with its other keys and both budgets; undefined for a name that is not known here. */
  memoised(name: string, keys: Keys, k: bigint, forever: Fraction, once: Fraction): Mechanism | undefined;
}

export const further = (kit: Kit): Further => ({
  oracle: (name, keys, k, budget) => {
    if (name === "SquareWave") return SquareWave(kit, k, budget, BigInt(keys.integer("window")));
    if (name !== "CMS") return undefined;
    const [m, family] = [BigInt(keys.integer("m")), keys.text("family")];
    kit.need(family === "prime" || family === "spread", kit.unknown(family), "refused");
    return CountMeanSketch(kit, k, budget, family === "prime" ? PrimeHashes(kit, k, m) : SpreadHashes(kit, k, m));
  },
  memoised: (...given) => memoised(kit, ...given),
  record: (name, keys, sizes, epsilon) => {
    if (name === "PairSample") return pairSample(kit, keys, sizes, epsilon);
    if (name === "PivotCoded") return pivotCoded(kit, sizes, epsilon);
    if (name === "RS+RFD") return fakes(kit, keys, sizes, epsilon);
    return name === "Corr-RR" ? copies(kit, keys, sizes, epsilon) : undefined;
  },
});
