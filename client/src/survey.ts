// The collection's document, checked before the first question: nothing that it states is believed.

import { atMostExp, type Fraction, fraction, fromNumber, must, proved, toNumber } from "./exact.js";
import { canonical, type Json, Keys, NumberToken, numberOf, parse, sha256, texts } from "./json.js";
import { type Mechanism, mechanism } from "./records.js";
import { type Attribute, schema } from "./schema.js";

/** A collection that this device has checked. */
export interface Survey {
  readonly id: string;
  readonly title: string;
  readonly attributes: readonly Attribute[];
  readonly mechanism: Mechanism;
  /** The budget as its document writes it. */
  readonly epsilon: string;
  /** Ids of the collections that this one was learned from: other people must have answered those. */
  readonly learnedFrom: readonly string[];
}

/**
 * Check a collection's document; a refusal with one sentence if anything is off.
 *
 * `link` is what the contributor's link says of the id: its first 16 digits or more. So a collector cannot serve one
 * person a collection of their own.
 */
export async function check(document: string, link: string): Promise<Survey> {
  const keys = new Keys(parse(document));
  must(keys.text("format") === "deniable collection");
  must([1, 2].includes(keys.integer("format_version")), "This survey is of a newer format than this page knows.");
  const id = keys.text("id");
  const parts = ["schema", "mechanism", "version", "title", ...(keys.has("learned_from") ? ["learned_from"] : [])];
  const content = new Map(parts.map((key) => [key, keys.take(key)] as const));
  const stated = keys.take("guarantee");
  keys.end();
  for (const value of content.values()) must(value !== undefined);
  const derived = await sha256(canonical(content as Map<string, Json>));
  must(derived === id, "This survey was changed after it was made.");
  must(/^[0-9a-f]{16,64}$/.test(link), "The link to this survey is not complete: it must end in # and the survey's id.");
  must(id.startsWith(link), "This is another survey than the one your link was made for.");
  const attributes = schema(content.get("schema"));
  const found = mechanism(content.get("mechanism")!);
  const sizes = attributes.flatMap((one) => one.sizes);
  must(
    sizes.length === found.sizes.length && sizes.every((k, j) => k === found.sizes[j]),
    "The coins of this survey are for other questions.",
  );
  must(found.coins.every(proved), "The coins of this survey would give less privacy than it states.");
  checkGuarantee(stated, found);
  const title = content.get("title");
  must(typeof title === "string" && content.get("version") instanceof NumberToken);
  const epsilon = (content.get("mechanism") as Map<string, Json>).get("epsilon") as string;
  return { id, title, attributes, mechanism: found, epsilon, learnedFrom: phases(content.get("learned_from")) };
}

const ANOTHER = "This survey states another guarantee than its coins have.";

/** Python states numbers to nine digits that any machine agrees on; the bound itself must hold exactly. */
function checkGuarantee(stated: Json | undefined, found: Mechanism): void {
  const keys = new Keys(stated);
  const close = (value: number, exact: Fraction): boolean => Math.abs(value / toNumber(exact) - 1) <= 1e-9;
  const epsilon = keys.number("epsilon");
  must(close(epsilon, found.epsilon), ANOTHER);
  const implemented = fromNumber(keys.number("implemented_epsilon"));
  const little: Fraction = fraction(implemented[0] * (10n ** 9n - 1n), implemented[1] * 10n ** 9n);
  must(atMostExp(found.ratio, implemented) && !atMostExp(found.ratio, little), ANOTHER);
  const each = keys.list("per_attribute").map(numberOf);
  must(each.length === found.perAttribute.length && each.every((value, j) => close(value, found.perAttribute[j]!)), ANOTHER);
  const rows = keys.list("trust_models").map((row) => new Keys(row));
  must(rows.length === 2, ANOTHER);
  rows.forEach((row, repeated) => {
    must(close(row.number("epsilon"), found.epsilon) && row.number("delta") === 0, ANOTHER);
    must(row.text("adversary") === "collector", ANOTHER);
    must(row.text("status") === (repeated ? "upper bound" : "exact"), ANOTHER);
    must(row.optionalText("scaling") !== (repeated ? "once" : "per report"), ANOTHER);
    // Words, which nobody is shown.
    for (const prose of ["view", "note", "bound"]) row.optionalText(prose);
    row.end();
  });
  texts(keys.list("text"));
  texts(keys.list("remarks"));
  keys.end();
}

function phases(value: Json | undefined): string[] {
  if (value === undefined) return [];
  const keys = new Keys(value);
  const found = [keys.text("collection"), ...(keys.has("earlier") ? texts(keys.list("earlier")) : [])];
  keys.text("aggregate");
  keys.integer("contributors");
  keys.end();
  return found;
}
