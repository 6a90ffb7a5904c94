// Random words: 64 uniform bits each, from the browser's cryptographic generator.

import { SCALE } from "./exact.js";

/** A source of independent uniform integers in 0..2^64-1. */
export interface Words {
  next(): bigint;
}

const AT_A_TIME = 64;

/** Words of the browser's generator, little-endian. A word that was used is wiped. */
export class SecureWords implements Words {
  private readonly _words = new BigUint64Array(AT_A_TIME);
  private _used = AT_A_TIME;

  next(): bigint {
    if (this._used === AT_A_TIME) {
      const bytes = new DataView(this._words.buffer);
      crypto.getRandomValues(this._words);
      for (let i = 0; i < AT_A_TIME; i++) this._words[i] = bytes.getBigUint64(8 * i, true);
      this._used = 0;
    }
    const word = this._words[this._used]!;
    this._words[this._used++] = 0n;
    return word;
  }

  /** Wipe the words that were not used. */
  wipe(): void {
    this._words.fill(0n);
    this._used = AT_A_TIME;
  }
}

/** Words that were written down for tests. There must be enough of them. */
export class RecordedWords implements Words {
  private _place = 0;

  constructor(private readonly _words: readonly bigint[]) {}

  next(): bigint {
    if (this._place >= this._words.length) throw new RangeError("there are no more recorded words");
    return this._words[this._place++]!;
  }
}

export const high = (product: bigint): bigint => product >> 64n;
export const low = (product: bigint): bigint => product & (SCALE - 1n);

/** A uniform integer on 0..bound-1. Words of the incomplete last interval are drawn again. */
export function uniformBelow(words: Words, bound: bigint): bigint {
  if (bound === 1n) return 0n;
  const width = SCALE / bound;
  for (;;) {
    const quotient = words.next() / width;
    if (quotient < bound) return quotient;
  }
}

/**
 * The first of `share` uniform integers in 0..bound-1 that one word is made into. The first integer is the whole part of the
 * word times the bound, the next is the whole part of the rest times the bound, and so on. A word whose last rest is below 2^64
 * mod bound^share is drawn again.
 */
export function uniformShare(words: Words, bound: bigint, share: number): bigint {
  const limit = SCALE % bound ** BigInt(share);
  for (;;) {
    let rest = words.next();
    const chosen = high(rest * bound);
    for (let i = 0; i < share; i++) rest = low(rest * bound);
    if (rest >= limit) return chosen;
  }
}
