// The square wave.

import type { Fraction } from "../exact.js";
import type { Oracle } from "../oracles.js";
import type { Kit } from "../records.js";

/** Square wave: a report is one of k + 2b codes, of which 2b + 1, those near the answer, are likelier. */
export function SquareWave({ SCALE, codeBytes, fromBytes, lieThreshold, need, toBytes, uniformBelow }: Kit, k: bigint, budget: Fraction, window: bigint): Oracle {
  need(k <= 4096n && window <= k);
  const near = 2n * window + 1n;
  const width = codeBytes(k + 2n * window);
  const far = lieThreshold(budget, k - 1n, near);
  const lies = (k - 1n) * far;
  const ratio = (q: bigint): Fraction => [SCALE - (k - 1n) * q, near * q];
  return {
    k,
    width,
    coins: [{ threshold: far, ratio, bolder: -1n, budget }],
    randomize: (x, words) => {
      const word = words.next();
      let report = word / far;
      if (word < lies) {
        if (report >= x) report += near;
      } else {
        const step = (word - lies) / ((SCALE - lies) / near);
        report = x + (step < near ? step : uniformBelow(words, near));
      }
      return toBytes(report, width);
    },
    read: (report) => {
      const y = fromBytes(report);
      return { supports: (x) => x <= y && y < x + near, likely: [SCALE - lies, SCALE * near], unlikely: [far, SCALE] };
    },
  };
}
