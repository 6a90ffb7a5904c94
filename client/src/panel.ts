// The list of what this device has sent is in the second file. This file hands over the parts of the first file that the list
// needs.

import { button, h } from "./element.js";
import { less, must, parseDecimal, plus, times, toNumber } from "./exact.js";
import type { Panel } from "./further/ledger.js";
import { second } from "./records.js";
import { account, addDraws, type Account, type Draw, keep, setLimit } from "./store.js";

export const panel = async (): Promise<Panel> =>
  (await second()).panel({ h, button, less, need: must, parseDecimal, plus, times, toNumber, account, addDraws, keep, setLimit });

/**
 * The function that says whether one more draw is within the person's limit. If it cannot be loaded, nothing is within a limit.
 */
export const over = (): Promise<((account: Account, draw: Draw) => boolean) | undefined> =>
  panel().then(
    (one) => (all, draw) => !one.over(all, draw),
    () => undefined,
  );
