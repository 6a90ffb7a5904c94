// The page's own sentences. What states the guarantee, what is sent, kept or counted comes from here alone, in every
// language: a survey's page document may word the keys of `FREE` otherwise, and no others.

import ar from "./languages/ar.json";
import de from "./languages/de.json";
import es from "./languages/es.json";
import fr from "./languages/fr.json";

export const ENGLISH = {
  promise: "Before your answer leaves this device, it is decided by coins.",
  checked: "Checked in this browser: epsilon {epsilon}. Whatever you send, nobody’s odds about you move by more than {ratio} times.",
  weak: "That is little protection.",
  language: "Language",
  consentTitle: "Taking part",
  agree: "I have read this and take part.",
  keepsSum: "Reports are added up in batches of at least {batch}, and then deleted.",
  keepsReports: "Reports are added up, and kept in shuffled batches of at least {batch}.",
  open: "Everybody who has the link may answer once on each device; on several devices, more than epsilon {epsilon} is told.",
  contact: "Contact: {contact}",
  questions: "Questions",
  several: "Choose all that apply.",
  number: "A number",
  between: "A number from {low} to {high}",
  word: "Type a word of the list",
  noWord: "This word is not in the list.",
  slider: "What others can learn",
  suppose: "Suppose somebody believed this much that your answer to “{question}” is “{label}”",
  after: "After seeing what you send, they can believe at most {most}%, and at least {least}%.",
  before: "Before: {x}%",
  toss: "Toss the coins and send",
  once: "Coins are tossed once. Your answers are not kept, and what is sent cannot be changed.",
  sentTitle: "What is sent",
  delay: "Decided, and kept on this device. It is sent in a moment.",
  sending: "Sending …",
  offline: "You are offline. It is sent when you are online, or when you open this page again.",
  retry: "The collector is busy. Trying again …",
  counted: "Sent, and counted.",
  stopped: "The collector did not take it ({problem}). It is kept on this device; ask {contact} what to do.",
  again: "Try again",
  drawn: "The coins chose the question: {question}",
  reported: "Reported: {labels}",
  nothing: "nothing",
  yes: "yes",
  no: "no",
  meaning: "How likely exactly this report was, had the answer to “{question}” been …",
  answer: "Answer",
  chance: "Chance of this report",
  others: "{count} others",
  everyAnswer: "So it could have come from every answer; from none is it more than {ratio} times as likely as from another.",
  bytes: "The bytes",
  receipt: "Receipt",
  device: "Answered on this device",
  survey: "Survey",
  state: "State",
  epsilon: "Epsilon",
  sum: "Together",
  stateDrawn: "waiting to be sent",
  stateCounted: "counted",
  stateStopped: "not taken",
  stateLeft: "answered",
  perOrigin: "This list is of this address and browser only, which may forget it: save it to keep it.",
  save: "Save the list",
  load: "Load a list",
  loaded: "Loaded.",
  notLoaded: "This is no list that was saved here.",
  notOpen: "This survey takes no answers now.",
  closed: "This survey is closed.",
  earlier: "You have answered an earlier part of this survey on this device. This part must be answered by other people.",
  show: "Show what was sent",
  hide: "Hide what was sent",
  shared: "Sharing this device? Leave it, and it forgets what was sent. The next person sees nothing of it.",
  leave: "Leave this device",
  leaveUnsent: "Your report has not been counted yet. If you leave now, this device deletes it and does not send it again.",
  leaveAnyway: "Delete it and leave",
  stay: "Stay",
  left: "This device has forgotten your report. One mark stays: this device has answered. If your report was sent, it still counts.",
  exit: "Leave this page at once",
  second: "Someone else wants to answer",
  secondNote: "Only another person may answer again on this device. If the same person answers twice, their two reports tell more about them than epsilon {epsilon} allows.",
  secondStart: "I am another person",
  another: "another person",
  old: "To answer safely a browser needs a secure connection, IndexedDB and WebCrypto. This one has not all of them.",
  unreachable: "The survey cannot be loaded now. Try again later.",
  refused: "This survey is not shown.",
} as const;

export type Key = keyof typeof ENGLISH;

/** Sentences that say nothing about the guarantee or the report: `interface` of a page document may replace these. */
export const FREE: readonly Key[] = [
  "language",
  "consentTitle",
  "agree",
  "contact",
  "questions",
  "several",
  "number",
  "between",
  "word",
  "noWord",
  "again",
  "answer",
  "survey",
  "state",
  "save",
  "load",
  "loaded",
  "notLoaded",
];

/** The places of a sentence that are filled in, as "{epsilon}". */
export const places = (sentence: string): string[] => sentence.match(/\{\w+\}/g) ?? [];

const SHIPPED: Record<string, Partial<Record<Key, string>>> = { ar, de, en: ENGLISH, es, fr };

/** The sentences that ship in a language, by its tag or the first part of it; undefined if none do. */
export const shipped = (tag: string): Partial<Record<Key, string>> | undefined => SHIPPED[tag.toLowerCase().split("-")[0]!];
