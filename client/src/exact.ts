// Exact numbers: fractions, budgets and thresholds. No float comes between epsilon and the random draw.

/** A fraction: numerator and positive denominator. */
export type Fraction = readonly [bigint, bigint];

/** Probabilities are integers over 2^64, as a random word is. */
export const SCALE = 1n << 64n;

const ONE = 1n << 256n;

/**
 * The reason for refusing a survey, as the page says it: the documents are not those of the link, this page does not know how
 * to ask the survey, the survey could not be loaded, the browser cannot answer it, or the link is not complete.
 */
export type Why = "tampered" | "refused" | "unreachable" | "old" | "cut";

/** Thrown for everything that a client must refuse. The message is one sentence for people. */
export class Refusal extends Error {
  constructor(
    message: string,
    readonly why: Why = "tampered",
  ) {
    super(message);
  }
}

/** Throw a refusal unless a condition is true. By default the condition is that a document is a valid survey document. */
export function must(holds: unknown, otherwise = "This survey's file is damaged.", why?: Why): asserts holds {
  if (!holds) throw new Refusal(otherwise, why);
}

const gcd = (a: bigint, b: bigint): bigint => {
  while (b) [a, b] = [b, a % b];
  return a;
};

/** a/b in lowest terms. */
export const fraction = (a: bigint, b = 1n): Fraction => {
  const common = gcd(a < 0n ? -a : a, b);
  return [a / common, b / common];
};

export const times = (x: Fraction, y: Fraction): Fraction => fraction(x[0] * y[0], x[1] * y[1]);
export const plus = (x: Fraction, y: Fraction): Fraction => fraction(x[0] * y[1] + y[0] * x[1], x[1] * y[1]);
export const less = (x: Fraction, y: Fraction): boolean => x[0] * y[1] < y[0] * x[1];

/** The least integer that is not below a/b; a and b positive. */
export const ceiling = (a: bigint, b: bigint): bigint => (a + b - 1n) / b;

const size = (n: bigint): number => n.toString(2).length;

/** A fraction as a double, rounded to nearest, ties to even, as Python's float() does. */
export function toNumber([a, b]: Fraction): number {
  if (a < 0n) return -toNumber([-a, b]);
  if (a === 0n) return 0;
  // There are 55 bits or more, and the last bit says whether anything follows. So the conversion rounds once.
  const shift = 66 - size(a) + size(b);
  const up = shift > 0 ? a << BigInt(shift) : a;
  const down = shift > 0 ? b : b << BigInt(-shift);
  return Number((up / down) | (up % down ? 1n : 0n)) / 2 ** shift;
}

/** A finite double as the fraction that it is. */
export function fromNumber(x: number): Fraction {
  let exponent = 0;
  while (!Number.isInteger(x)) {
    x *= 2;
    exponent++;
  }
  return fraction(BigInt(x), 1n << BigInt(exponent));
}

/** The number that a text states: a plain decimal, one with an exponent, or "a/b"; undefined for any other text. */
export function parseDecimal(text: string): Fraction | undefined {
  const ratio = /^(\d{1,999})\/([1-9]\d{0,998})$/.exec(text);
  if (ratio) return fraction(BigInt(ratio[1]!), BigInt(ratio[2]!));
  const parts = /^([+-]?)(\d{0,999})(?:\.(\d{0,999}))?(?:[eE]([+-]?\d{1,9}))?$/.exec(text);
  if (!parts || !(parts[2] || parts[3])) return undefined;
  const digits = BigInt((parts[2] ?? "") + (parts[3] ?? "")) * (parts[1] === "-" ? -1n : 1n);
  const power = Number(parts[4] ?? 0) - (parts[3] ?? "").length;
  if (!digits || Math.abs(power) > 999) return digits ? undefined : [0n, 1n];
  return power < 0 ? fraction(digits, 10n ** BigInt(-power)) : [digits * 10n ** BigInt(power), 1n];
}

/** A fraction as documents write it: a plain decimal of at most 400 digits without needless ones, else "a/b". */
export function decimalText([n, d]: Fraction): string {
  if (n < 0n) return `-${decimalText([-n, d])}`;
  let [scale, power] = [0, 1n];
  for (; power % d && scale < 400; scale++) power *= 10n;
  const digits = String((n * power) / d);
  if (power % d || digits.length > 400) return `${n}/${d}`;
  const padded = digits.padStart(scale + 1, "0");
  return scale ? `${padded.slice(0, -scale)}.${padded.slice(-scale)}` : padded;
}

/**
 * The number from which thresholds are made: the declared decimal or its nearest double, whichever is less. It is rounded once,
 * for the whole budget. Every split of the budget is an exact fraction of this number.
 */
export function spent(declared: Fraction): Fraction {
  const nearest = fromNumber(toNumber(declared));
  return less(nearest, declared) ? nearest : declared;
}

/** Bounds (lower, upper) of e^t over 2^256, from Taylor sums of rounded terms; t in [0, 64]. */
export function expBounds([a, b]: Fraction): readonly [bigint, bigint] {
  const known = bounds.get(`${a}/${b}`);
  if (known) return known;
  let [down, up, lower, upper] = [ONE, ONE, 0n, 0n];
  for (let n = 1n; ; n++) {
    lower += down;
    upper += up;
    down = (down * a) / (b * n);
    up = ceiling(up * a, b * n);
    // From here on terms shrink by half or more at every step, so the rest is below two terms.
    if (up <= 1n && 2n * a < b * n) break;
  }
  const found = [lower, upper + 2n * up] as const;
  bounds.set(`${a}/${b}`, found);
  return found;
}
const bounds = new Map<string, readonly [bigint, bigint]>();

const UNSETTLED = "A threshold of this survey cannot be settled in 256 bits.";

/** Whether n/d <= e^t, with a proof. It throws a refusal if 256 bits do not decide. */
export function atMostExp([n, d]: Fraction, t: Fraction): boolean {
  const [lower, upper] = expBounds(t);
  if (n * ONE <= d * lower) return true;
  must(n * ONE > d * upper, UNSETTLED, "refused");
  return false;
}

/** The integer to which both bounds of e^t lead. */
function settled(t: Fraction, rounded: (e: bigint) => bigint): bigint {
  const [lower, upper] = expBounds(t).map(rounded) as [bigint, bigint];
  must(lower === upper, UNSETTLED, "refused");
  return lower;
}

/** ceil(2^64/(near e^t + others)). */
export const lieThreshold = (t: Fraction, others: bigint, near = 1n): bigint =>
  settled(t, (e) => ceiling(SCALE * ONE, near * e + others * ONE));

/** floor(2^64 w e^t/(w e^t + k - w)). */
export const inclusionThreshold = (t: Fraction, k: bigint, w: bigint): bigint =>
  settled(t, (e) => (SCALE * w * e) / (w * e + (k - w) * ONE));

/**
 * ceil(2^64 (1/(e^t + others) - q)/(p - q)), at least 0: with which a second stage reports each other value of a first one
 * that has the chances p and q over 2^64, so that both together report it with 1/(e^t + others).
 */
export const secondThreshold = (p: bigint, q: bigint, t: Fraction, others: bigint): bigint =>
  settled(t, (e) => {
    const sum = e + others * ONE;
    const missing = SCALE * ONE - q * sum;
    return missing > 0n ? ceiling(SCALE * missing, (p - q) * sum) : 0n;
  });

/** A threshold with the facts that prove it: the likelihood ratio that it and its neighbours give. */
export interface Coin {
  /** The number that is compared with a random word. */
  readonly threshold: bigint;
  /** The largest ratio between two answers that this part of a report has at such a threshold. */
  readonly ratio: (threshold: bigint) => Fraction;
  /** The step towards less noise: +1 or -1. */
  readonly bolder: bigint;
  /** The budget that this part spends. */
  readonly budget: Fraction;
}

/**
 * Whether a coin is proved right: its ratio is at most e^budget, and that of the next bolder threshold is more.
 *
 * This does not use how the threshold was found, so that a mistake there shows here.
 */
export const proved = ({ threshold, ratio, bolder, budget }: Coin): boolean =>
  threshold > 0n &&
  threshold < SCALE &&
  atMostExp(ratio(threshold), budget) &&
  !atMostExp(ratio(threshold + bolder), budget);
