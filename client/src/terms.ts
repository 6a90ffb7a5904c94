// The survey document: the texts for people, and the terms of the survey. The rules are those of the library's
// `survey_page.py`.

import { distinct, isDay } from "./answers.js";
import { must } from "./exact.js";
import { FREE, places } from "./free.js";
import { canonical, Keys, numberOf, parse, sha256, texts, whole } from "./json.js";
import type { Survey } from "./survey.js";
import type { Key } from "./text.js";

export interface Language {
  readonly title: string;
  readonly intro: string;
  readonly consent: string;
  readonly thanks: string;
  readonly questions: Record<string, string>;
  readonly labels?: Record<string, string[]>;
  readonly interface?: Partial<Record<Key, string>>;
}

export interface PageDocument {
  readonly languages: Record<string, Language>;
  readonly access: string;
  readonly retention: string;
  readonly min_batch: number;
  readonly contact: string;
  readonly opens_at?: string | null;
  readonly closes_at?: string | null;
  /** Whether another person may answer on the same device. */
  readonly second_person?: boolean;
  /** Whether people are asked for consent before the first question, and not when they send. */
  readonly consent_first?: boolean;
}

const OTHER_TEXTS = "The text on this page belongs to another survey.";
const ANOTHER_LINK = "This is not the survey that your link was made for: its questions, texts or terms differ.";
const GUARDED = "The texts of this survey replace a sentence that only the page itself may say.";
const UNFILLED = "The texts of this survey have a place in braces that nothing fills in.";
const TAG = /^([a-z]{2,3}|[a-z]{5,8})(-[a-z]{4})?(-([a-z]{2}|\d{3}))?(-(\d[a-z0-9]{3}|[a-z0-9]{5,8}))?$/i;
const TIME = /^.{10}T([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d{1,6})?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$/;

/** The hash of a survey document: SHA-256 of its canonical text, so that white space and the order of keys do not matter. */
export const pageHash = (text: string): Promise<string> => sha256(canonical(parse(text)));

/** The end of a link: digits, and an invitation's token of 16 bytes. */
export const LINK = /^([0-9a-f]{32})(?:\.([A-Za-z0-9_-]{21}[AQgw]))?$/;

/** The digits and the token of the end of a link. It throws a refusal if the text cannot be the end of a link. */
export function split(link: string): { readonly digits: string; readonly token?: string } {
  const found = LINK.exec(link);
  must(found, "The link to this survey is not complete: it must end in # and 32 digits, with an invitation's 23 characters after them.", "cut");
  return { digits: found[1]!, ...(found[2] && { token: found[2] }) };
}

/**
 * The digits at the end of a survey's link: one hash over the whole id of the collection and the whole hash of the survey
 * document. A collector writes both documents. To forge half a hash for each would cost the collector only the square root of
 * the cost of forging this hash.
 */
export const linkDigits = async (id: string, page: string): Promise<string> => (await sha256(`deniable link 1\n${id}\n${page}\n`)).slice(0, 32);

/** Refuse a collection (by its id) and a survey document (by its hash) if the link was not made for them. */
export const matches = async (id: string, page: string, link: string): Promise<void> => must((await linkDigits(id, page)) === link, ANOTHER_LINK);

/** The survey document of a collection. It throws a refusal with one sentence if anything is wrong. */
export function terms(text: string, { id, attributes }: Pick<Survey, "id" | "attributes">): PageDocument {
  const keys = new Keys(parse(text));
  must(keys.text("format") === "deniable survey page" && keys.integer("format_version") === 1);
  must(keys.text("collection") === id, OTHER_TEXTS);
  const languages = keys.object("languages");
  must(languages.size);
  for (const [tag, value] of languages) {
    const words = new Keys(value);
    for (const key of ["title", "intro", "consent", "thanks"]) words.text(key);
    const questions = words.object("questions");
    const asked = attributes.map((one) => one.name);
    must(TAG.test(tag));
    must(questions.size === asked.length && [...questions.keys()].every((key, j) => key === asked[j]), OTHER_TEXTS);
    texts([...questions.values()]);
    const listed = attributes.filter((one) => !one.kind.unlisted);
    const labels = words.has("labels") ? words.object("labels") : new Map();
    must(labels.size === listed.length, OTHER_TEXTS);
    for (const one of listed) {
      const own = labels.get(one.name);
      must(Array.isArray(own) && own.length === one.labels.length && distinct(texts(own)) && own.every(Boolean), OTHER_TEXTS);
    }
    if (words.has("interface")) {
      const own = words.object("interface");
      must([...own.keys()].every((key) => FREE.has(key)), GUARDED);
      texts([...own.values()]);
      for (const [key, said] of own) must(places(said as string).every((one) => FREE.get(key)!.includes(one)), UNFILLED);
    }
    words.end();
  }
  const access = keys.has("access") ? keys.text("access") : "open";
  must(access === "open" || access === "invited");
  must(!keys.has("retention") || ["aggregate", "reports"].includes(keys.text("retention")));
  for (const key of ["second_person", "consent_first"]) {
    const chosen = keys.has(key) && keys.take(key);
    must(typeof chosen === "boolean" && !(chosen && key === "second_person" && access === "invited"));
  }
  must(!keys.has("min_batch") || keys.integer("min_batch") >= 20);
  const hours = keys.has("grace_hours") ? numberOf(keys.take("grace_hours")) : 0;
  must(hours >= 0 && hours <= 24 * 366);
  const contributors = keys.take("contributors") ?? null;
  must(contributors === null || whole(contributors) >= 1);
  const [opens, closes] = ["opens_at", "closes_at"].map((key) => {
    const at = keys.take(key) ?? null;
    must(at === null || (typeof at === "string" && isDay(at.slice(0, 10)) && TIME.test(at)));
    return at && Date.parse(at);
  });
  must(!opens || !closes || opens < closes);
  keys.text("contact");
  keys.end();
  // The defaults are those of the library.
  return { access, retention: "aggregate", min_batch: 100, ...(JSON.parse(text) as Omit<PageDocument, "access" | "retention" | "min_batch">) };
}
