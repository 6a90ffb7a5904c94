// The ledger: what was answered on this device, and what the reports have spent. People can look at the ledger, limit, save and
// load it.

import type { button, h } from "../element.js";
import type { less, must, parseDecimal, plus, times, toNumber, Fraction } from "../exact.js";
import type { Account, account, addDraws, Draw, keep, Kept, setLimit } from "../store.js";
import type { Key } from "../text.js";
import type { Voice } from "../voice.js";
import sentences from "./sentences.json";

/** The parts that the first file hands to this file. */
export interface PageKit {
  readonly h: typeof h;
  readonly button: typeof button;
  readonly less: typeof less;
  readonly need: typeof must;
  readonly parseDecimal: typeof parseDecimal;
  readonly plus: typeof plus;
  readonly times: typeof times;
  readonly toNumber: typeof toNumber;
  readonly account: typeof account;
  readonly addDraws: typeof addDraws;
  readonly keep: typeof keep;
  readonly setLimit: typeof setLimit;
}

/** The numbers by which a total exceeds a limit, as texts. */
export interface Over {
  readonly total: string;
  readonly more: string;
  readonly limit: string;
}

/** Keys of this file's own sentences. They are spelled out, because a user of the types has no table of sentences. */
type Own = "over" | "overBy" | "limit" | "setLimit" | "limitSet" | "badLimit" | "lost";

export interface Panel {
  /** One of the sentences that only this file has. */
  fill(voice: Voice, key: Own, values?: Partial<Over>): string;
  /** Show the ledger in an element. */
  show(voice: Voice, device: HTMLElement, opened?: boolean, outcome?: Key | Own): Promise<void>;
  /** The numbers by which one more draw would exceed the person's limit; undefined if it does not. */
  over(account: Account, draw: Draw): Over | undefined;
}

const STATES = { drawn: "stateDrawn", counted: "stateCounted", stopped: "stateStopped", left: "stateLeft" } as const;
const FORMAT = "deniable device ledger";
const NONE: Fraction = [0n, 1n];

export const panel = (kit: PageKit): Panel => {
  const { h, button, less, parseDecimal, plus, times, toNumber, account, addDraws, keep, setLimit } = kit;
  const need: (holds: unknown, otherwise: string) => void = kit.need;
  const number = (text: string): Fraction | undefined => parseDecimal(text);

  /**
   * The exact total that the first person of this device has spent; undefined without a bound. Nobody knows which other persons
   * are the same.
   */
  function total({ responses, draws }: Pick<Account, "responses" | "draws">): Fraction | undefined {
    const own = draws.filter((one) => one.person === 1);
    // These responses are older than the records of draws, or come from a list without draws.
    const known = new Set(own.map((one) => one.collection));
    let [sum, bounded] = [NONE, true];
    const add = (part: Fraction | undefined): void => {
      if (part) sum = plus(sum, part);
      else bounded = false;
    };
    for (const one of responses) if (one.person === 1 && !known.has(one.collection)) add(number(one.epsilon));
    const groups = new Map<string, [NonNullable<Draw["memo"]>, bigint]>();
    for (const { epsilon, memo } of own)
      if (!memo) add(number(epsilon));
      else {
        const name = JSON.stringify([memo.id, memo.forever, memo.once, memo.step, memo.rows]);
        groups.set(name, [memo, (groups.get(name)?.[1] ?? 0n) + 1n]);
      }
    for (const [memo, reports] of groups.values()) {
      const [once, step] = [number(memo.once)!, memo.step ? number(memo.step) : undefined];
      const protectedTotal = reports === 1n ? once : step && plus(once, times(step, [reports - 1n, 1n]));
      const rows = BigInt(memo.rows);
      // If the times of change are known anyway, the bound counts every answer that may have been used, at most.
      const known = reports > 1n && rows ? times(number(memo.forever)!, [reports < rows ? reports : rows, 1n]) : undefined;
      add(known && (!protectedTotal || less(known, protectedTotal)) ? known : protectedTotal);
    }
    return bounded ? sum : undefined;
  }

  /** In the page's language, or in English. */
  const fill = ({ tag }: Voice, key: Own, values: Partial<Over> = {}): string => {
    const primary = tag.toLowerCase().split("-")[0] as keyof typeof sentences;
    return (sentences[primary] ?? sentences.en)[key].replace(/\{(\w+)\}/g, (_, name: keyof Over) => values[name] ?? "");
  };
  const say = <E extends Element>(voice: Voice, element: E, key: Key | Own): E =>
    key in sentences.en ? voice.say(element, () => fill(voice, key as Own)) : voice.say(element, key as Key);

  const text = (part: Fraction | undefined): string => (part ? String(Number(toNumber(part).toPrecision(9))) : "∞");

  function over(all: Account, draw: Draw): Over | undefined {
    const limit = all.limit && number(all.limit);
    if (!limit || draw.person !== 1) return undefined;
    const found = total({ ...all, draws: [...all.draws, draw] });
    if (found && !less(limit, found)) return undefined;
    return { total: text(found), more: text(found && plus(found, [-limit[0], limit[1]])), limit: all.limit! };
  }

  const exported = ({ responses, draws }: Account): string =>
    `${JSON.stringify({ format: FORMAT, format_version: 2, responses, spending: draws }, null, 2)}\n`;

  /** The responses of a file that `exported` made. It throws for any other file. */
  function responsesOf(list: readonly Kept[]): Kept[] {
    return list.map(({ collection, person = 1, title, epsilon, body, page, state, invitation }) => {
      need(/^[0-9a-f]{64}$/.test(collection) && person >= 1 && person % 1 === 0 && number(epsilon), "");
      need([title, body, page].every((one) => typeof one === "string"), "");
      const unsent = state === "drawn" || state === "stopped";
      need(unsent ? (JSON.parse(body) as { collection: unknown }).collection === collection : state === "counted" || state === "left", "");
      need(invitation === undefined || /^[0-9a-f]{16}$/.test(invitation), "");
      return { collection, person, title, epsilon, body: unsent ? body : "", page, state, ...(invitation && { invitation }) };
    });
  }

  /** The draws of a file. It throws if a draw would lower a total, or if the file contradicts this device about a draw. */
  function drawsOf(list: readonly Draw[], here: readonly Draw[]): Draw[] {
    const positive = (value: unknown): boolean => typeof value === "string" && less(NONE, number(value) ?? NONE);
    const mine = new Map(here.map((one) => [one.draw, JSON.stringify(one)]));
    const found = list.map(({ draw, collection, epsilon, person = 1, memo }): Draw => {
      need(/^[0-9a-f]{32}$/.test(draw) && typeof collection === "string" && person >= 1 && person % 1 === 0, "");
      need(epsilon === "" || positive(epsilon), "");
      if (!memo) return { draw, collection, epsilon, person };
      const { id, forever, once, step, rows } = memo;
      need(typeof id === "string" && positive(forever) && positive(once) && (step === "" || positive(step)) && rows >= 0 && rows % 1 === 0, "");
      return { draw, collection, epsilon, person, memo: { forever, once, step, rows, id } };
    });
    for (const one of found) {
      const text = JSON.stringify(one);
      need((mine.get(one.draw) ?? text) === text, "");
      mine.set(one.draw, text);
    }
    return found;
  }

  /** Take over a list of another device of the same person, or a ledger that the library has saved. */
  async function load(content: string): Promise<void> {
    const data = JSON.parse(content) as { format?: unknown; format_version?: number; responses?: Kept[]; spending?: Draw[]; draws?: Draw[] };
    const [version, own] = [data.format_version, data.format === "deniable person ledger"];
    need(own ? version === 1 && Array.isArray(data.draws) : data.format === FORMAT && Array.isArray(data.responses), "");
    need(own || version === 1 || (version === 2 && Array.isArray(data.spending)), "");
    const responses = responsesOf(own ? [] : data.responses!);
    // The draws come first, because a list that is loaded only in part must not count less.
    await addDraws(drawsOf((own ? data.draws : data.spending) ?? [], (await account()).draws));
    for (const one of responses) await keep(one);
  }

  async function show(voice: Voice, device: HTMLElement, opened = false, outcome?: Key | Own): Promise<void> {
    const all = await account();
    const heads = (["survey", "epsilon", "state"] as const).map((key) => voice.say(h("th", { scope: "col" }), key));
    const rows = all.responses.map(({ title, collection, epsilon, person, state }) => {
      const which = voice.say(h("td"), () => (title || collection.slice(0, 12)) + (person > 1 ? ` (${voice.fill("another")})` : ""));
      // A report of permanent responses adds less than all of them may add. The total knows how they add up.
      const spent = all.draws.find((one) => one.collection === collection && one.person === person)?.epsilon;
      return h("tr", {}, which, h("td", {}, spent ?? epsilon), voice.say(h("td"), STATES[state]));
    });
    const status = h("p", { role: "status" });
    if (outcome) say(voice, status, outcome);
    const again = (key: Key | Own): Promise<void> => show(voice, device, true, key);
    const file = h("input", {
      type: "file",
      id: "deniable-file",
      accept: "application/json",
      change: async () => {
        try {
          await load(await file.files![0]!.text());
          await again("loaded");
        } catch {
          voice.say(status, "notLoaded");
        }
      },
    });
    const save = (): void => {
      const link = h("a", { download: "deniable-ledger.json", href: URL.createObjectURL(new Blob([exported(all)], { type: "application/json" })) });
      link.click();
      setTimeout(() => URL.revokeObjectURL(link.href), 1000);
    };
    const limit = h("input", { type: "text", inputmode: "decimal", id: "deniable-limit", value: all.limit ?? "", autocomplete: "off" });
    const set = async (): Promise<void> => {
      const value = limit.value.trim();
      if (value && !less(NONE, number(value) ?? NONE)) say(voice, status, "badLimit");
      else {
        await setLimit(value);
        await again("limitSet");
      }
    };
    const sum = h("tr", {}, voice.say(h("th", { scope: "row" }), "sum"), h("td", { class: "sum" }, text(total(all))), h("td"));
    voice.forget(device);
    opened ||= !!device.querySelector("details")?.open;
    device.replaceChildren(
      h(
        "details",
        { open: opened },
        voice.say(h("summary"), "device"),
        ...(rows.length || all.draws.length ? [h("table", {}, h("thead", {}, h("tr", {}, ...heads)), h("tbody", {}, ...rows), h("tfoot", {}, sum))] : []),
        voice.say(h("p"), "perOrigin"),
        say(voice, h("p"), "lost"),
        h("p", {}, say(voice, h("label", { for: limit.id }), "limit"), limit, " ", say(voice, button(() => void set()), "setLimit")),
        h("p", {}, voice.say(button(save), "save")),
        h("p", {}, voice.say(h("label", { for: file.id }), "load"), file),
        status,
      ),
    );
  }

  return { fill, show, over };
};
