// The collection's document is checked before the first question. Nothing that it states is believed.

import { atMostExp, type Fraction, fraction, fromNumber, must, proved, toNumber } from "./exact.js";
import { canonical, type Json, Keys, NumberToken, numberOf, parse, sha256, texts } from "./json.js";
import type { Attribute } from "./kind.js";
import { type Mechanism, mechanism, type Stated } from "./records.js";
import { schema } from "./schema.js";

/** A collection that this device has checked. */
export interface Survey {
  readonly id: string;
  readonly title: string;
  readonly attributes: readonly Attribute[];
  readonly mechanism: Mechanism;
  /** The budget as its document writes it. */
  readonly epsilon: string;
  /** Name of all waves that share permanent responses: a hash of questions and random draws; none if nothing is kept. */
  readonly series?: string;
  /** Ids of the collections from which this collection was learned. Other people must have answered those collections. */
  readonly learnedFrom: readonly string[];
}

/**
 * Check a collection's document. It throws a refusal with one sentence if anything is wrong.
 *
 * `asked` is the id of the collection that was asked for, all 64 digits. Only `linkDigits` tells whether this is the collection
 * that a contributor's link was made for.
 */
export async function check(document: string, asked: string): Promise<Survey> {
  const keys = new Keys(parse(document));
  must(keys.text("format") === "deniable collection");
  const format = keys.integer("format_version");
  must(format === 1 || format === 2, "This survey needs a newer version of this page.", "refused");
  const id = keys.text("id");
  const parts = ["schema", "mechanism", "version", "title", ...(keys.has("learned_from") ? ["learned_from"] : [])];
  const content = new Map(parts.map((key) => [key, keys.take(key)] as const));
  const stated = keys.take("guarantee");
  keys.end();
  for (const value of content.values()) must(value !== undefined);
  const derived = await sha256(canonical(content as Map<string, Json>));
  must(derived === id, "This survey was changed after it was created.");
  must(id === asked, "This is not the survey that this page asked for.");
  const attributes = schema(content.get("schema"));
  must(format === 2 || attributes.every((one) => one.first));
  const found = await mechanism(content.get("mechanism")!);
  const sizes = attributes.flatMap((one) => one.sizes);
  must(
    sizes.length === found.sizes.length && sizes.every((k, j) => k === found.sizes[j]),
    "The coins of this survey do not fit its questions.",
  );
  must(found.coins.every(proved), "The coins of this survey would give you less privacy than it promises.");
  checkGuarantee(stated, found);
  const title = content.get("title");
  const version = content.get("version");
  must(typeof title === "string" && version instanceof NumberToken && /^[1-9]\d*$/.test(version.text));
  const spec = content.get("mechanism") as Map<string, Json>;
  const epsilon = (spec.get("epsilon") ?? spec.get("epsilon_forever")) as string;
  const shared = new Map<string, Json>([["schema", content.get("schema")!], ["mechanism", spec]]);
  const series = found.memoised && { series: await sha256(canonical(shared)) };
  return { id, title, attributes, mechanism: found, epsilon, learnedFrom: phases(content.get("learned_from")), ...series };
}

const ANOTHER = "The privacy this survey promises is not the privacy its coins give.";

/** Python states numbers to nine digits, on which all machines agree. The bound itself must be kept exactly. */
function checkGuarantee(stated: Json | undefined, found: Mechanism): void {
  const keys = new Keys(stated);
  const close = (value: number, exact: Fraction): boolean => Math.abs(value / toNumber(exact) - 1) <= 1e-9;
  /** Whether a number is the logarithm of a ratio, to nine digits. */
  const about = (value: number, ratio: Fraction): boolean => {
    const [n, d] = fromNumber(value > 0 && value < 63 ? value : 0);
    const part = (one: bigint): Fraction => fraction(n * one, d * 10n ** 9n);
    return atMostExp(ratio, part(10n ** 9n + 1n)) && !atMostExp(ratio, part(10n ** 9n - 1n));
  };
  const epsilon = keys.number("epsilon");
  must(close(epsilon, found.epsilon), ANOTHER);
  const most = keys.number("implemented_epsilon");
  must(most > 0 && most < 64, ANOTHER);
  const implemented = fromNumber(most);
  const little: Fraction = fraction(implemented[0] * (10n ** 9n - 1n), implemented[1] * 10n ** 9n);
  const { whole, attributes } = found.bounds ?? { whole: found.ratio, attributes: undefined };
  must(atMostExp(whole, implemented) && !atMostExp(whole, little), ANOTHER);
  const each = keys.list("per_attribute").map(numberOf);
  must(each.length === found.perAttribute.length && each.every((value, j) => (attributes ? about(value, attributes[j]!) : close(value, found.perAttribute[j]!))), ANOTHER);
  const rows = keys.list("trust_models").map((row) => new Keys(row));
  const usual: readonly Stated[] = [[found.epsilon, "exact", "once"], [found.epsilon, "upper bound", "per report"]];
  const due = found.stated ?? usual;
  must(rows.length === due.length, ANOTHER);
  const edition = rows[0]!.has("scaling");
  rows.forEach((row, i) => {
    const [epsilon, status, scaling] = due[i]!;
    must(close(row.number("epsilon"), epsilon) && row.number("delta") === 0, ANOTHER);
    must(row.text("status") === status, ANOTHER);
    // Documents of the first edition state neither how a row scales nor its bound.
    must(row.has("scaling") === edition && row.has("bound") === edition, ANOTHER);
    if (edition) must(row.text("scaling") === scaling, ANOTHER);
    // These texts must be there, but nobody is shown them.
    for (const prose of ["adversary", "view", "note", ...(edition ? ["bound"] : [])]) row.text(prose);
    row.end();
  });
  texts(keys.list("text"));
  texts(keys.list("remarks"));
  keys.end();
}

function phases(value: Json | undefined): string[] {
  if (value === undefined) return [];
  const keys = new Keys(value);
  const earlier = keys.has("earlier") ? texts(keys.list("earlier")) : undefined;
  must(!earlier || earlier.length);
  const found = [keys.text("collection"), ...(earlier ?? [])];
  keys.text("aggregate");
  const contributors = keys.take("contributors");
  must(contributors instanceof NumberToken && /^(0|-?[1-9]\d*)$/.test(contributors.text));
  keys.end();
  return found;
}
