// The view of what was sent: the report in words, how often each answer would have led to the same report, and its bytes.

import type { Asking } from "./asking.js";
import { fromBase64 } from "./bytes.js";
import { LISTED } from "./controls.js";
import { bar, h, level } from "./element.js";
import { type Fraction, must } from "./exact.js";
import { sha256 } from "./json.js";
import type { Part } from "./records.js";
import type { Kept } from "./store.js";
import type { Key } from "./text.js";

/** The numbers of answers that are searched for examples, and that are named. */
const [SCANNED, EXAMPLES] = [4096, 6];

/** The quotient of two chances as a number. The chances may be far below the smallest double. */
const share = ([a, b]: Fraction, [c, d]: Fraction): number => (a && c ? 1 / (Number((c * b * 10n ** 12n) / (a * d)) / 1e12) : 0);

/** What a kept response has sent, or would send if `title` says so. */
export async function contents(asking: Asking, { body }: Kept, title: Key = "sent"): Promise<HTMLElement> {
  const { voice, survey } = asking;
  const [sent] = (JSON.parse(body) as { reports: { id: string; report: string }[] }).reports;
  const report = fromBase64(sent!.report);
  must(report.length === survey.mechanism.width);
  const hex = [...report].map((one) => one.toString(16).padStart(2, "0")).join(" ");
  return h(
    "div",
    { class: "card", tabindex: -1 },
    voice.say(h("p", { class: "small" }), title),
    ...survey.mechanism.read(report).flatMap((part) => meaning(asking, part)),
    voice.say(h("p"), "everyAnswer", () => ({ ratio: asking.factor() })),
    h("details", {}, voice.say(h("summary"), "bytes"), h("pre", { tabindex: 0 }, `${hex}\n\n${body}`), h("p", {}, voice.say(h("span"), "receipt"), ": ", h("code", {}, (await sha256(sent!.id)).slice(0, 16)))),
  );
}

/** One part of a report in words, and how likely it was from every answer. */
function meaning(asking: Asking, { attributes, reading }: Part): HTMLElement[] {
  const { voice, survey } = asking;
  const columns = attributes.map((j) => asking.columns[j]!);
  const sizes = attributes.map((j) => Number(survey.mechanism.sizes[j]!));
  const k = sizes.reduce((product, size) => product * size, 1);
  const name = (code: number): string => {
    const parts = sizes.map((size, j) => {
      const step = sizes.slice(j + 1).reduce((product, one) => product * one, 1);
      return columns[j]!.label(Math.floor(code / step) % size);
    });
    return parts.join(" · ");
  };
  const codes = Array.from({ length: Math.min(k, SCANNED) }, (_, code) => code);
  const near = codes.filter((code) => reading.supports(BigInt(code)));
  const few = (): string => near.slice(0, EXAMPLES).map(name).join(", ") + (near.length > EXAMPLES || k > SCANNED ? ", …" : "");
  const { likely, unlikely } = reading;
  const strength = level(share(likely, unlikely) || share(unlikely, likely));
  const rows = h("tbody");
  const row = (label: HTMLElement, supported: boolean): void => {
    const { drawing, set } = bar();
    const [own, other] = supported ? [likely, unlikely] : [unlikely, likely];
    // The bar is full for the most likely answers, and proportional for the others.
    set(own[0] ? Math.min(1, share(own, other) || 1) : 0, supported ? strength : 0);
    label.setAttribute("scope", "row");
    rows.append(h("tr", {}, label, h("td", {}, drawing, voice.say(h("span"), () => chance(asking, own)))));
  };
  if (k <= LISTED) for (const code of codes) row(voice.say(h("th"), () => name(code)), near.includes(code));
  else {
    if (near.length) row(voice.say(h("th"), few), true);
    row(voice.say(h("th"), "others", () => ({ count: k - near.length })), false);
  }
  const { drawn } = survey.mechanism;
  const head = h("tr", {}, voice.say(h("th", { scope: "col" }), "answer"), voice.say(h("th", { scope: "col" }), drawn === "All" ? "chance" : "chanceDrawn"));
  return [
    voice.say(h("p", { class: "asked" }), () => columns.map((one) => one.question()).join(" · ")),
    voice.say(h("p", { class: "points" }), "points", () => ({ labels: near.length ? few() : voice.fill("nothing") })),
    h("table", {}, voice.say(h("caption"), drawn === "All" ? "made" : drawn === "Hidden" ? "madeHidden" : attributes.length > 1 ? "madeTwo" : "madeOne"), h("thead", {}, head), rows),
  ];
}

/** A chance as people read it: "53.4%", or one in a number that may be long. */
function chance({ voice }: Asking, [n, d]: Fraction): string {
  const { numerals } = voice;
  if (n * 1000n >= d) return numerals.percent(Number((n * 10n ** 12n) / d) / 1e12, 3);
  if (!n) return numerals.percent(0);
  const most = (d / n).toString();
  if (most.length < 7) return voice.fill("oneIn", { n: Number(most) });
  const power = [...String(most.length - 1)].map((digit) => "⁰¹²³⁴⁵⁶⁷⁸⁹"[Number(digit)]).join("");
  return voice.fill("oneIn", { n: `${numerals.text(Number(`${most[0]}.${most[1]}`), { minimumFractionDigits: 1 })} × 10${power}` });
}
