// How a contributor is protected, for people to try: a picture of a hundred people, the meaning of a factor, and the way of a
// report.

import type { Asking } from "./asking.js";
import { bar, button, draw, h, level, mark } from "./element.js";
import { parseDecimal, spent } from "./exact.js";
import { GRR } from "./oracles.js";
import type { PageDocument } from "./terms.js";
import type { Key } from "./text.js";
import type { Values } from "./voice.js";
import { SecureWords } from "./words.js";

/** The person of the picture who is "you". */
const YOU = 46;

/** An ornament. The share of its yellow dots is the share of answers "yes" or "no" that would be swapped. */
export function ornament({ ratio }: Asking): SVGSVGElement {
  const [columns, count] = [19, 57];
  const swapped = Math.round(count / (ratio + 1));
  const dots = Array.from({ length: count }, (_, i) =>
    // 37 and 57 have no common factor, so the yellow dots are spread over all rows.
    draw("circle", { cx: 8 + (i % columns) * 18.5, cy: 7 + Math.floor(i / columns) * 16, r: 6, class: (i * 37 + 5) % count < swapped ? "coin" : "people" }),
  );
  return draw("svg", { viewBox: "0 0 350 46", class: "dots ornament", "aria-hidden": "true" }, ...dots);
}

/** "How does this protect me?" */
export function how(asking: Asking): HTMLElement {
  const { voice, survey } = asking;
  const ratio = (): { ratio: string } => ({ ratio: asking.factor() });
  return h(
    "details",
    {},
    voice.say(h("summary"), "how"),
    voice.say(h("p"), survey.mechanism.swaps ? "swaps" : "mixes"),
    hundred(asking),
    voice.say(h("p"), "correct"),
    h("p", {}, voice.say(h("strong"), "factor", ratio), " ", voice.say(h("span"), "sure", () => odds(asking, 0.5))),
    belief(asking),
  );
}

/**
 * The beliefs after the report of a person who believed something with chance x before: y = x r/(x r + 1 - x), and the same
 * with 1/r.
 */
function odds({ voice, ratio }: Asking, x: number): { most: string; least: string; up: number } {
  const up = (x * ratio) / (x * ratio + 1 - x);
  const least = Math.floor((100 * x) / (x + (1 - x) * ratio)) / 100;
  return { most: voice.numerals.percent(Math.min(1, Math.ceil(100 * up) / 100)), least: voice.numerals.percent(least), up };
}

/**
 * How far a report can move a belief that the reader of the page chooses: one bar for before the report, and one for after it.
 */
function belief(asking: Asking): HTMLElement {
  const { voice, survey } = asking;
  const first = survey.attributes[0]!;
  const range: HTMLInputElement = h("input", { type: "range", min: 1, max: 99, value: 50, id: "deniable-belief", autocomplete: "off", input: () => voice.speak(moved) });
  const [before, after] = [bar(), bar()];
  const output = (): HTMLElement => h("output", { for: range.id });
  const moved: HTMLElement = h(
    "div",
    { class: "belief" },
    voice.say(h("label", { for: range.id }), "suppose", () => ({ question: asking.question(first), label: asking.label(first, 0) })),
    range,
    h("p", {}, voice.say(output(), "before", () => {
      const x = Number(range.value) / 100;
      before.set(x, 0);
      return { x: voice.numerals.percent(x) };
    }), before.drawing),
    h("p", {}, voice.say(output(), "after", () => {
      const { up, ...said } = odds(asking, Number(range.value) / 100);
      // The colour goes from calm to warning as the belief rises. A factor of 20 turns 50–50 into 95%.
      after.set(up, level(up / (1 - up)));
      return said;
    }), after.drawing),
  );
  return moved;
}

/**
 * A hundred people who all mean the same, and the reports that their devices would send. The client's own random draws are
 * used, for two answers.
 */
function hundred({ voice, survey }: Asking): HTMLElement {
  const coins = GRR(2n, spent(parseDecimal(survey.epsilon)!));
  const dots = Array.from({ length: 100 }, (_, i) => draw("circle", { cx: 10 + (i % 20) * 16.8, cy: 10 + Math.floor(i / 20) * 18, r: 6 }));
  const you = draw("circle", { class: "you", cx: dots[YOU]!.getAttribute("cx")!, cy: dots[YOU]!.getAttribute("cy")!, r: 9 });
  const name = (code: number): string => voice.fill(code ? "no" : "yes");
  let [kept, sent]: [number, number[] | undefined] = [0, undefined];
  const said = h("p", { role: "status" });
  const choose = (code: number): HTMLElement =>
    h(
      "label",
      {},
      h("input", { type: "radio", name: "deniable-pretend", value: code, checked: !code, change: () => show(code) }),
      voice.say(h("span"), () => name(code)),
    );
  const key = (shape: string, words: Element): HTMLElement =>
    h("span", {}, draw("svg", { viewBox: "0 0 16 16", class: "dots" }, draw("circle", { class: shape, cx: 8, cy: 8, r: 6 })), words);
  const keys = [false, true].map((other) => voice.say(h("span"), "sends", () => ({ answer: name(other ? 1 - kept : kept) })));

  function show(code: number, codes?: number[]): void {
    [kept, sent] = [code, codes];
    dots.forEach((dot, i) => dot.setAttribute("class", (sent?.[i] ?? kept) === kept ? "people" : "coin"));
    voice.forget(said);
    const own = { kept: (): string => name(kept) };
    if (!sent) voice.say(said, "hundred", () => ({ kept: own.kept() }));
    else {
      const other = sent.filter((one) => one !== kept).length;
      const yours = sent[YOU]!;
      voice.say(said, "flipped", () => ({ sent: name(yours), kept: own.kept(), same: 100 - other, other, swapped: name(1 - kept) }));
    }
    for (const one of keys) one.replaceChildren(voice.fill("sends", { answer: name(one === keys[0] ? kept : 1 - kept) }));
  }

  const flip = (): void => {
    const words = new SecureWords();
    show(kept, dots.map(() => Number(coins.respond(BigInt(kept), words.next()))));
    words.wipe();
  };
  show(0);
  return h(
    "div",
    { class: "card" },
    h("fieldset", { class: "pretend" }, voice.say(h("legend"), "pretend"), choose(0), choose(1), voice.say(button(flip), "randomise")),
    draw("svg", { viewBox: "0 0 340 92", class: "dots", "aria-hidden": "true" }, ...dots, you),
    h("p", { class: "key", "aria-hidden": "true" }, key("people", keys[0]!), key("coin", keys[1]!), key("you", voice.say(h("span"), "you"))),
    said,
  );
}

/** A contact as people can use it. If it is only an address, it is a link. */
export const contact = ({ contact }: PageDocument): Node | string =>
  /^[^\s@<>?&]+@[^\s@<>?&]+$/.test(contact) ? h("a", { href: `mailto:${contact}` }, contact) : contact;

/** "What happens to my report?" */
export function what(asking: Asking): HTMLElement {
  const { voice, survey, texts } = asking;
  const sends = asking.sends();
  const item = (...parts: Node[]): HTMLElement => h("li", {}, ...parts.flatMap((one) => [one, " "]));
  const part = (key: Key, values?: () => Values): HTMLElement => voice.say(h("span"), key, values);
  const { min_batch: batch, retention } = texts;
  return h(
    "details",
    {},
    voice.say(h("summary"), "what"),
    h(
      "ul",
      {},
      item(part(`takes${sends}`), ...(survey.attributes.some((one) => one.kind.several) ? [part("options")] : [])),
      item(part(sends === "One" ? "seesOne" : sends === "Two" || sends === "Either" ? "seesTwo" : "seesAll"), part("address")),
      item(part(retention === "reports" ? "keepsReports" : "keepsSum", () => ({ batch })), part("rest")),
      item(part("repeats")),
      item(part("contact", () => ({ contact: contact(texts) }))),
    ),
    voice.say(h("p"), () => asking.language.consent),
    voice.say(h("p", { class: "small" }), "checked", () => ({ epsilon: survey.epsilon, ratio: asking.factor() })),
  );
}

/** The promise, with a warning if it protects little. */
export function promise(asking: Asking): HTMLElement {
  const { voice, ratio } = asking;
  const weak = ratio > 20;
  return h(
    "div",
    { class: weak ? "promise weak" : "promise" },
    mark(),
    h("div", {}, ...(weak ? [voice.say(h("p"), "weak")] : []), voice.say(h("p"), "promise", () => ({ ratio: asking.factor() }))),
  );
}
