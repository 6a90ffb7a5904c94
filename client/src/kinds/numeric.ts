// The answer is a number in a public range, which is rounded at random to a public grid.

import { AnswerError, distinct, further, missingCode, NOT_FINITE, NUMBER, otherCode, stated } from "../answers.js";
import { number, typed } from "../controls.js";
import { decimalText, type Fraction, fraction, less, must, parseDecimal, plus, SCALE, times, toNumber } from "../exact.js";
import { type Keys, plainNumber } from "../json.js";
import type { Attribute, Grid, Kind } from "../kind.js";
import type { Words } from "../words.js";

/** The largest number of points of a grid, as in the library. */
const POINTS = 1024;
const minus = (x: Fraction, y: Fraction): Fraction => plus(x, [-y[0], y[1]]);

export const kind: Kind = {
  name: "numeric",
  ask: "mean",
  read(keys) {
    const grid = gridOf(keys);
    return { categories: pointLabels(grid), grid, scored: true };
  },
  codes(one, answer, words) {
    must(answer === null || typeof answer === "string");
    return [BigInt(rounded(one, one.grid!, answer, words))];
  },
  control: (one, field) => typed(one, field, number),
};

function gridOf(keys: Keys): Grid {
  const ends = keys.list("range").map((end) => parseDecimal(String(plainNumber(end))));
  const size = keys.integer("grid");
  const [low, high] = ends;
  must(ends.length === 2 && low && high && less(low, high));
  must(size >= 2 && size <= POINTS && ![low, high].some(([n, d]) => n * n > 10n ** 30n * d * d));
  return { low, high, size: BigInt(size), clip: stated(keys, "clip", false) };
}

/** The points of a grid as people read them: exact if they are short, otherwise with as few digits as distinguish them. */
function pointLabels({ low, high, size }: Grid): string[] {
  const width = minus(high, low);
  const points = Array.from({ length: Number(size) }, (_, i) => plus(low, times(width, fraction(BigInt(i), size - 1n))));
  const spelled = (digits: number): string[] => points.map((point) => decimalText(parseDecimal(toNumber(point).toPrecision(digits))!));
  const exact = (labels: string[]): boolean => labels.every((label, i) => label === decimalText(points[i]!));
  const longest = spelled(15);
  return (
    [6, 9, 12].map(spelled).find((labels) => distinct(labels) && (!exact(longest) || exact(labels))) ?? longest
  );
}

function rounded(one: Attribute, grid: Grid, answer: string | null, words: Words): number {
  // Every numeric answer takes its word, so that the number of words does not depend on it.
  const word = words.next();
  if (!answer) return missingCode(one);
  const x = answer.length <= 400 ? parseDecimal(answer) : undefined;
  for (const [label, code] of further(one)) {
    const number = parseDecimal(label);
    if (answer === label || (x && number && x[0] === number[0] && x[1] === number[1])) return code;
  }
  if (!x) {
    if (answer.length > 400 || NOT_FINITE.test(answer) || NUMBER.test(answer)) throw new AnswerError(one.name, "number");
    return otherCode(one);
  }
  const [below, above] = [less(x, grid.low), less(grid.high, x)];
  if ((below || above) && !grid.clip) throw new AnswerError(one.name, "outside");
  const from = minus(below ? grid.low : above ? grid.high : x, grid.low);
  const width = minus(grid.high, grid.low);
  const [n, d] = [from[0] * width[1] * (grid.size - 1n), from[1] * width[0]];
  const threshold = ((n % d) * SCALE) / d;
  return Number(n / d) + (word < threshold ? 1 : 0);
}
