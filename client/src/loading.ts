// From a survey's link to the bytes of a report: everything that page and package do before anything is kept or sent.

import { base64, fromBase64 } from "./bytes.js";
import { must } from "./exact.js";
import { type Invitation, invitation } from "./invitation.js";
import type { Answer } from "./kind.js";
import { encode } from "./schema.js";
import { type Draw, type Kept, type Memo, memo } from "./store.js";
import { check, type Survey } from "./survey.js";
import { matches, type PageDocument, pageHash, split, terms } from "./terms.js";
import { SecureWords } from "./words.js";

/** The place of a survey, and what its link says about it. */
export interface Place {
  /** Address of the collector's interface, for instance "https://collector.example/api/v1". */
  readonly api: string;
  /** Id of the collection. */
  readonly collection: string;
  /**
   * The 32 digits of the contributor's link, as `linkDigits` makes them from both documents. An invitation's token follows
   * after a dot.
   */
  readonly link: string;
}

/** A survey whose guarantee this device has proved, and whose texts are those that the link was made for. */
export interface Loaded {
  readonly survey: Survey;
  /** The survey document: the texts for people, and the terms. */
  readonly texts: PageDocument;
  /** Hash of the survey document. */
  readonly page: string;
  /** Address of the collection. */
  readonly url: string;
  /** "open" while people may answer. */
  readonly state: string;
  /** The invitation of the link; none if everybody may answer. */
  readonly invited?: Invitation;
}

/**
 * Load a survey and prove its guarantee. It rejects with a `Refusal` if anything is off, before anybody is asked anything.
 */
export async function load(place: Place, credentials: RequestCredentials = "omit"): Promise<Loaded> {
  must(globalThis.isSecureContext, "A page needs a secure connection (https) to keep and send a report.", "old");
  must(globalThis.indexedDB && crypto.subtle && globalThis.BigInt, "This browser has no IndexedDB, WebCrypto or BigInt.", "old");
  const { digits, token } = split(place.link);
  const url = `${place.api}/collections/${place.collection}`;
  const read = async (path: string): Promise<string> => {
    const answer = await fetch(url + path, { credentials, referrerPolicy: "no-referrer" }).catch(() => undefined);
    must(answer?.ok, `The server gave no survey${path}.`, "unreachable");
    return answer.text();
  };
  const [document, text, said] = await Promise.all([read(""), read("/page"), read("/state")]);
  const survey = await check(document, place.collection);
  const page = await pageHash(text);
  await matches(survey.id, page, digits);
  const texts = terms(text, survey);
  must((texts.access === "invited") === !!token, "A survey for invited people needs an invitation in its link, and any other has none.", "cut");
  const invited = token ? await invitation(survey.id, token) : undefined;
  const attributes = await Promise.all(survey.attributes.map((one) => (one.kind.loaded ? one.kind.loaded(one, read) : one)));
  const state = String((JSON.parse(said) as { state?: unknown }).state);
  return { survey: { ...survey, attributes }, texts, page, url, state, ...(invited && { invited }) };
}

const hex = (bytes: number): string => Array.from(crypto.getRandomValues(new Uint8Array(bytes)), (one) => one.toString(16).padStart(2, "0")).join("");

/**
 * The permanent responses of a person, if a survey keeps them. They are drawn for every answer and stored before the first
 * report is made from them, so they tell nothing about an answer. A preview stores none.
 */
export async function remembered({ survey }: Pick<Loaded, "survey">, person: number, preview = false): Promise<Memo | undefined> {
  const { series, mechanism } = survey;
  if (!series || !mechanism.memoised) return undefined;
  const random = new SecureWords();
  const fresh: Memo = { series, person, id: hex(16), rows: mechanism.memoised.draw(random).map(base64) };
  random.wipe();
  const first = preview ? fresh : await memo(fresh);
  must(mechanism.memoised.fits(first.rows.map(fromBase64)), "What this device keeps for this survey is damaged.");
  return first;
}

/** The entry of a person's ledger about a report that is about to be drawn. */
export function drawOf({ survey }: Pick<Loaded, "survey">, person: number, kept?: Memo): Draw {
  const { id: collection, epsilon, mechanism } = survey;
  const spent = mechanism.memoised?.budget;
  return { draw: hex(16), collection, person, epsilon: spent?.once ?? epsilon, ...(spent && kept && { memo: { ...spent, id: kept.id } }) };
}

/** Randomise answers into the bytes that are sent. An invalid answer throws an `AnswerError` that names the question. */
export function randomised({ survey, page, invited }: Pick<Loaded, "survey" | "page" | "invited">, answers: readonly Answer[], person: number, kept?: Memo): Kept {
  const random = new SecureWords();
  try {
    const codes = encode(survey.attributes, answers, random);
    const { memoised } = survey.mechanism;
    must(!memoised === !kept);
    const report = memoised ? memoised.report(kept!.rows.map(fromBase64), codes[0]!, random) : survey.mechanism.randomize(codes, random);
    codes.fill(0n);
    const { id, title, epsilon } = survey;
    // In open access the report gets a random name, which nobody else has and nothing else carries.
    const nullifier = invited?.id ?? base64(crypto.getRandomValues(new Uint8Array(16)));
    const body = JSON.stringify({ collection: id, reports: [{ id: nullifier, report: base64(report) }] });
    return { collection: id, person, title, epsilon, body, page, state: "drawn", ...(invited && { invitation: invited.mark }) };
  } finally {
    random.wipe();
  }
}
