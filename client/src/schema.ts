// The schema: the questions, and the codes of their answers. The rules are those of the library's `survey/encoding.py`.

import { distinct, stated } from "./answers.js";
import { must } from "./exact.js";
import { type Json, Keys, texts } from "./json.js";
import type { Answer, Attribute, Kind } from "./kind.js";
import { KINDS } from "./kinds/index.js";
import type { Words } from "./words.js";

const VERSION_2 = ["kind", "scores", "range", "grid", "clip", "ask", "separator", "title", "ask_if"];

const USUAL = KINDS.find((one) => one.usual)!;

/** The attributes of a schema; a refusal for open text and for every key that this client does not know. */
export function schema(value: Json | undefined): readonly Attribute[] {
  const keys = new Keys(value);
  const attributes = keys.list("attributes").reduce<Attribute[]>((earlier, one) => [...earlier, attribute(one, earlier)], []);
  keys.end();
  must(attributes.length && distinct(attributes.flatMap((one) => one.columns)));
  return attributes;
}

/** The kind of an entry: the kind that a key determines, or the kind that the entry names. */
function kindOf(keys: Keys): Kind {
  const marked = KINDS.find(({ mark }) => mark && keys.has(mark));
  if (marked) return marked;
  const name = stated(keys, "kind", USUAL.name);
  const named = KINDS.find((one) => one.name === name);
  must(named, `This page cannot show questions of the kind "${name}".`, "refused");
  return named;
}

/** The condition under which a question is asked: an earlier question has one of some answers. */
function branchOf(keys: Keys, earlier: readonly Attribute[]): Attribute["branch"] {
  const named = keys.text("question");
  const at = earlier.findIndex(({ name }) => name === named);
  const asked = earlier[at];
  must(asked && !asked.kind.several && !asked.kind.unlisted && !asked.grid);
  const codes = texts(keys.list("answers")).map((label) => asked.labels.indexOf(label));
  keys.end();
  must(codes.length && codes.length < asked.labels.length && distinct(codes) && !codes.includes(-1));
  return { at, codes };
}

function attribute(value: Json, earlier: readonly Attribute[]): Attribute {
  const keys = new Keys(value);
  const first = !VERSION_2.some((key) => keys.has(key));
  const name = keys.text("name");
  const kind = kindOf(keys);
  const own = kind.read(keys);
  const [missing, other] = [keys.optionalText("missing"), keys.optionalText("other")];
  const title = stated(keys, "title", "");
  const ask = stated<string>(keys, "ask", kind.ask ?? "shares");
  const branch = keys.has("ask_if") ? branchOf(new Keys(keys.take("ask_if")), earlier) : undefined;
  keys.end();
  must(!branch || missing !== undefined);
  const further = [missing, other].filter((label): label is string => label !== undefined);
  const labels = [...own.categories, ...further];
  const count = (own.dictionary?.k ?? own.categories.length) + further.length;
  must(name && count >= 2 && distinct(labels));
  must(ask === "shares" || (ask === "mean" && own.scored));
  const one: Attribute = {
    ...own,
    name,
    title,
    kind,
    missing,
    other,
    branch,
    labels,
    columns: kind.several ? labels.map((label) => `${name}: ${label}`) : [name],
    first: first && typeof own.edges?.[0] !== "string",
    sizes: kind.several ? labels.map(() => 2n) : [BigInt(count)],
  };
  must(!kind.fits || kind.fits(one));
  return one;
}

/** Return which questions are asked, as far as the answers tell. */
export function asked(attributes: readonly Attribute[], answers: readonly (Answer | undefined)[]): boolean[] {
  const found: boolean[] = [];
  for (const { branch } of attributes) {
    const one = branch && attributes[branch.at]!;
    const answer = branch && (found[branch.at] ? answers[branch.at] : null);
    // No word rounds the answer of a question on which another question depends.
    found.push(!one || (answer !== undefined && branch.codes.includes(Number(one.kind.codes(one, answer, undefined as never)[0]))));
  }
  return found;
}

/**
 * The codes of a record's columns, in order; words decide how numeric answers are rounded, with one word for each. A question
 * that is not asked has the code of a missing answer.
 */
export function encode(attributes: readonly Attribute[], answers: readonly Answer[], words: Words): bigint[] {
  const shown = asked(attributes, answers.map((one) => one ?? null));
  return attributes.flatMap((one, j) => one.kind.codes(one, (shown[j] ? answers[j] : null) ?? null, words));
}
