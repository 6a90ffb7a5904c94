// The survey page: promise, consent, questions, what others can learn, the toss, what was sent, and this device's ledger.

import { AnswerError } from "./answers.js";
import { LISTED } from "./controls.js";
import { h } from "./element.js";
import { type Fraction, must, Refusal, toNumber } from "./exact.js";
import { sha256 } from "./json.js";
import type { Answer, Attribute, Field } from "./kind.js";
import type { Part } from "./records.js";
import { encode } from "./schema.js";
import { deliver } from "./send.js";
import { exported, found, imported, keep, type Kept, kept, leave, ledger, note, total } from "./store.js";
import { check, type Survey } from "./survey.js";
import { complete, type Language, LINK, matches, type PageDocument, pageHash, terms } from "./terms.js";
import { ENGLISH, FREE, type Key, shipped } from "./text.js";
import { SecureWords } from "./words.js";

/** Where a survey is, and what its link says of it. */
export interface Place {
  /** Address of the collector's interface, for instance "https://collector.example/api/v1". */
  readonly api: string;
  /** Id of the collection. */
  readonly collection: string;
  /** The 32 digits of the contributor's link, as `linkDigits` makes them of both documents. */
  readonly link: string;
}

/** A column of the record, as people read it. */
interface Column {
  readonly question: () => string;
  readonly label: (code: number) => string;
}

const RTL = /^(ar|ckb|dv|fa|he|ku|ps|sd|ug|ur|yi)\b/;
/** So many are looked at for examples. */
const SCANNED = 4096;
const EXAMPLES = 6;

/** A positive number in three digits, rounded up. */
function roundedUp(x: number): string {
  const near = Number(x.toPrecision(3));
  const up = near < x ? Number((near + 10 ** (Math.floor(Math.log10(x)) - 2)).toPrecision(3)) : near;
  return up < 1e6 ? String(up) : up.toExponential();
}

/** A chance as people read it in any language: "53.4%", or "1/2.0e41". */
function chanceText([n, d]: Fraction): string {
  if (n * 1000n >= d) return `${Number((Number((n * 10n ** 9n) / d) / 1e7).toPrecision(3))}%`;
  const most = n ? (d / n).toString() : "∞";
  return `1/${most.length < 7 ? most : `${most[0]}.${most[1]}e${most.length - 1}`}`;
}

/** Draw the survey of a place into an element, once everything about it has been checked. */
export async function mount(root: HTMLElement, place: Place): Promise<void> {
  try {
    must(globalThis.isSecureContext && globalThis.indexedDB && crypto.subtle && globalThis.BigInt, ENGLISH.old);
    root.classList.add("deniable");
    complete(place.link);
    const url = `${place.api}/collections/${place.collection}`;
    const read = async (path: string): Promise<string> => {
      const answer = await fetch(url + path, { credentials: "omit", referrerPolicy: "no-referrer" }).catch(() => undefined);
      must(answer?.ok, ENGLISH.unreachable);
      return answer.text();
    };
    const [document, page, state] = await Promise.all([read(""), read("/page"), read("/state")]);
    const survey = await check(document, place.collection);
    const hash = await pageHash(page);
    await matches(survey.id, hash, place.link);
    const said = terms(page, survey);
    const attributes = await Promise.all(
      survey.attributes.map((one) => (one.kind.loaded ? one.kind.loaded(one, read) : one)),
    );
    const open = (JSON.parse(state) as { state?: unknown }).state;
    await show(root, url, { ...survey, attributes }, said, hash, String(open));
  } catch (error) {
    refuse(root, error);
  }
}

/** Say why there is no form: the sentence of a refusal, or what a browser says that cannot keep a report. */
function refuse(root: HTMLElement, error: unknown): void {
  root.dataset.state = "refused";
  if (root.dataset.slug !== undefined) document.title = ENGLISH.refused;
  const why = error instanceof Refusal ? error.message : String(error);
  root.replaceChildren(h("section", { role: "alert" }, h("h1", {}, ENGLISH.refused), h("p", {}, why)));
}

/** Show a survey that has been checked; functions of one page share what is declared here. */
async function show(
  root: HTMLElement,
  url: string,
  survey: Survey,
  texts: PageDocument,
  hash: string,
  opened: string,
): Promise<void> {
  /** What is said again when the language changes. */
  let spoken: (readonly [HTMLElement, () => void])[] = [];
  const fields = new Map<string, () => Answer>();
  /** Forgets the form, or hides what was sent, when the page is left. */
  let cover = (): void => {};
  /** Responses whose person has left: they are not sent again. */
  const gone = new Set<Kept>();
  const tabs = new BroadcastChannel("deniable");
  const tags = Object.keys(texts.languages);
  const wanted = navigator.languages.map((one) => one.toLowerCase());
  const fits = (tag: string, one: string): boolean => one === tag.toLowerCase() || one.split("-")[0] === tag.toLowerCase();
  let tag = wanted.flatMap((one) => tags.filter((tag) => fits(tag, one)))[0] ?? tags[0]!;
  const ratio = toNumber(survey.mechanism.ratio) * (1 + 2 ** -50);
  const everyColumn: readonly Column[] = survey.attributes.flatMap((one) =>
    one.kind.several
      ? one.labels.map((_, box) => ({
          question: () => `${questionOf(one)} – ${labelOf(one, box)}`,
          label: (code: number) => fill(code ? "yes" : "no", {}),
        }))
      : [{ question: () => questionOf(one), label: (code: number) => labelOf(one, code) }],
  );

  // ---------------------------------------------------------------- words

  const language = (): Language => texts.languages[tag]!;

  function questionOf(one: Attribute): string {
    return language().questions[one.name]!;
  }

  function labelOf(one: Attribute, code: number): string {
    return (one.kind.unlisted ? undefined : language().labels?.[one.name]?.[code]) ?? one.labels[code]!;
  }

  /** The page document's own wording of a sentence, where it may have one. */
  const worded = (key: Key): string | undefined => (FREE.includes(key) ? language().interface?.[key] : undefined);

  function fill(key: Key, values: Record<string, string | number>): string {
    return (worded(key) ?? shipped(tag)?.[key] ?? ENGLISH[key]).replace(/\{(\w+)\}/g, (_, name: string) => {
      must(Object.prototype.hasOwnProperty.call(values, name));
      return String(values[name]);
    });
  }

  /** Let an element say something, now and in every language that is chosen later. */
  function say<E extends HTMLElement>(element: E, what: Key | (() => string), values: () => Record<string, string | number> = () => ({})): E {
    const now = (): void => {
      const own = typeof what === "string";
      element.textContent = own ? fill(what, values()) : what();
      // A sentence that is in English on a page that is not says so.
      const foreign = own && worded(what) === undefined && !shipped(tag)?.[what];
      for (const [name, value] of [["lang", "en"], ["dir", "ltr"]] as const)
        if (foreign) element.setAttribute(name, value);
        else element.removeAttribute(name);
    };
    spoken.push([element, now]);
    now();
    return element;
  }

  function speak(): void {
    root.lang = tag;
    root.dir = RTL.test(tag) ? "rtl" : "ltr";
    if (root.dataset.slug !== undefined) {
      document.documentElement.lang = tag;
      document.documentElement.dir = root.dir;
      document.title = language().title;
    }
    for (const [, now] of spoken) now();
  }

  // ---------------------------------------------------------------- views

  async function begin(): Promise<void> {
    const first = await kept(survey.id);
    const entries = await ledger();
    frame();
    if (first) return showKept(first);
    const earlier = entries.some((one) => survey.learnedFrom.includes(one.collection));
    if (earlier) return stop("earlier");
    if (opened !== "open") return stop(opened === "closed" || opened === "closing" ? "closed" : "notOpen");
    showForm(1);
  }

  function become(name: string): void {
    root.dataset.state = name;
  }

  function stop(why: Key): void {
    become("stopped");
    main.replaceChildren(say(h("p", { role: "alert", class: "notice" }), why));
    void showLedger();
  }

  const main = h("div");
  const device = h("section", { class: "device" });

  function frame(): void {
    const tags = Object.keys(texts.languages);
    const choose = h("select", {
      id: "deniable-language",
      change: () => {
        tag = choose.value;
        speak();
      },
    });
    const names = (tag: string): string => new Intl.DisplayNames([tag], { type: "language" }).of(tag) ?? tag;
    choose.append(...tags.map((tag) => h("option", { value: tag, lang: tag }, names(tag))));
    choose.value = tag;
    const header = h("header", {}, say(h("h1"), () => language().title));
    if (tags.length > 1) header.prepend(h("p", { class: "language" }, say(h("label", { for: choose.id }), "language"), choose));
    const { epsilon } = survey;
    const promise = h(
      "section",
      { class: "promise" },
      say(h("p", { class: "lead" }), "promise"),
      say(h("p"), "checked", () => ({ epsilon, ratio: roundedUp(ratio) })),
    );
    if (ratio > 54.6) promise.append(say(h("p", { class: "notice" }), "weak"));
    header.append(say(h("button", { type: "button", class: "exit", click: vanish }), "exit"));
    root.replaceChildren(header, promise, main, device);
    speak();
  }

  /** Forget the form and what is shown, and be gone: the address leaves the history as well. */
  function vanish(): void {
    cover();
    root.replaceChildren();
    location.replace("about:blank");
  }

  function showForm(person: number): void {
    const { epsilon, attributes } = survey;
    const { retention, min_batch: batch, contact } = texts;
    const form = h(
      "form",
      {
        autocomplete: "off",
        submit: (event) => {
          event.preventDefault();
          toss(form, person).catch((error: unknown) => refuse(root, error));
        },
      },
      h(
        "section",
        {},
        say(h("p"), () => language().intro),
        say(h("h2"), "consentTitle"),
        say(h("p"), () => language().consent),
        say(h("p"), retention === "reports" ? "keepsReports" : "keepsSum", () => ({ batch })),
        say(h("p"), "open", () => ({ epsilon })),
        say(h("p"), "contact", () => ({ contact })),
        h("p", {}, h("label", {}, h("input", { type: "checkbox", name: "agree", required: true }), say(h("span"), "agree"))),
      ),
      h("section", {}, say(h("h2"), "questions"), ...attributes.map((one, j) => fieldOf(one, `deniable-${j}`))),
      slider(),
      say(h("p"), "once"),
      say(h("button", { type: "submit", class: "toss" }), "toss"),
    );
    main.replaceChildren(form);
    // Nothing of an earlier person is here any more, so nobody who leaves elsewhere changes this form.
    tabs.onmessage = null;
    // Whoever comes back to this page, or uses the device next, finds an empty form.
    cover = () => form.reset();
    become("form");
    void showLedger();
  }

  function fieldOf(one: Attribute, name: string): HTMLElement {
    const box = h("fieldset", {}, say(h("legend"), () => questionOf(one)));
    const choices: Field["choices"] = (type, codes, required) =>
      codes.map((code) => {
        const input = h("input", { type, name, value: String(code), required });
        box.append(h("label", {}, input, say(h("span"), () => labelOf(one, code))));
        return input;
      });
    fields.set(one.name, one.kind.control(one, { box, name, choices, say, fill: (key) => fill(key, {}) }));
    return box;
  }

  /** How much a report can move a belief: y = x r/(x r + 1 - x), r the exact ratio of the coins. */
  function slider(): HTMLElement {
    const [range, before, after] = [
      h("input", { type: "range", min: "1", max: "99", value: "50", id: "deniable-belief", autocomplete: "off" }),
      h("output", { for: "deniable-belief" }),
      h("output", { for: "deniable-belief" }),
    ];
    const [first] = survey.attributes as [Attribute];
    const bars = [h("meter", { min: "0", max: "100" }), h("meter", { min: "0", max: "100" })];
    const move = (): Record<string, string> => {
      const x = Number(range.value);
      const most = Math.ceil((1000 * x * ratio) / (x * ratio + 100 - x)) / 10;
      const least = Math.floor((1000 * x) / (x + (100 - x) * ratio)) / 10;
      bars[0]!.value = x;
      bars[1]!.value = most;
      return { x: String(x), most: String(Math.min(most, 100)), least: String(least) };
    };
    say(before, "before", move);
    say(after, "after", move);
    range.addEventListener("input", () => speak());
    const label = (): string => labelOf(first, 0);
    return h(
      "section",
      { class: "belief" },
      say(h("h2"), "slider"),
      say(h("label", { for: range.id }), "suppose", () => ({ question: questionOf(first), label: label() })),
      range,
      h("p", {}, before, bars[0]!),
      h("p", {}, after, bars[1]!),
    );
  }

  // ---------------------------------------------------------------- the toss

  async function toss(form: HTMLFormElement, person: number): Promise<void> {
    if (root.dataset.state !== "form") return;
    become("drawing");
    const random = new SecureWords();
    let report: Uint8Array;
    try {
      const { attributes, mechanism } = survey;
      const codes = encode(attributes, attributes.map((one) => fields.get(one.name)!()), random);
      report = mechanism.randomize(codes, random);
      codes.fill(0n);
    } catch (error) {
      if (!(error instanceof AnswerError)) throw error;
      become("form");
      const place = survey.attributes.findIndex((one) => one.name === error.attribute);
      const box = form.querySelectorAll("fieldset")[place]!;
      box.setAttribute("aria-invalid", "true");
      box.querySelector("input")!.focus();
      return;
    } finally {
      random.wipe();
    }
    // From here on nothing on this device knows the answers.
    form.reset();
    form.remove();
    fields.clear();
    spoken = spoken.filter(([element]) => !form.contains(element));
    const { id, title, epsilon } = survey;
    // Open access: a name that nobody else has, and that nothing else carries.
    const nullifier = base64(crypto.getRandomValues(new Uint8Array(16)));
    const body = JSON.stringify({ collection: id, reports: [{ id: nullifier, report: base64(report) }] });
    const drawn = { collection: id, person, title, epsilon, body, page: hash, state: "drawn" } as const;
    await showKept(await keep(drawn));
  }

  // ---------------------------------------------------------------- what became of it

  /** Show what became of a response, and on request what was sent while this page still has it. */
  async function showKept(response: Kept): Promise<void> {
    // Whoever leaves in another tab of this device has left here as well, also since this page was loaded.
    tabs.onmessage = ({ data }) => {
      if (data === nameOf(response)) void gotLeft(response);
    };
    if (!(await here(response))) return showLeft(response);
    const status = h("p", { role: "status", class: "status" });
    const again = say(h("button", { type: "button", hidden: true, click: () => void send(response, status, again) }), "again");
    const heading = say(h("h2", { tabindex: "-1" }), "sentTitle");
    const sent = h("div", { id: "deniable-sent" });
    const ask = h("div");
    const going = say(h("button", { type: "button", click: () => askToLeave(response, ask) }), "leave");
    main.replaceChildren(
      h(
        "section",
        { class: "sent" },
        heading,
        status,
        again,
        ...(response.body ? [await shower(response, sent), sent] : []),
        say(h("p", { class: "lead" }), () => language().thanks),
        say(h("p"), "shared"),
        h("p", {}, going),
        ask,
      ),
    );
    heading.focus();
    if (response.state === "drawn") await send(response, status, again);
    else told(response, status, again);
  }

  /** A button that shows what was sent and hides it again; it is hidden whenever the page is. */
  async function shower(response: Kept, sent: HTMLElement): Promise<HTMLElement> {
    const parts = await contents(response);
    const button = h("button", { type: "button", "aria-expanded": "false", "aria-controls": sent.id });
    const show = (shown: boolean): void => {
      button.setAttribute("aria-expanded", String(shown));
      say(button, shown ? "hide" : "show");
      sent.replaceChildren(...(shown ? parts : []));
    };
    button.addEventListener("click", () => show(!sent.childElementCount));
    cover = () => show(false);
    cover();
    return button;
  }

  async function contents(response: Kept): Promise<HTMLElement[]> {
    const [sent] = (JSON.parse(response.body) as { reports: { id: string; report: string }[] }).reports;
    const report = Uint8Array.from(atob(sent!.report.replace(/-/g, "+").replace(/_/g, "/")), (one) => one.charCodeAt(0));
    must(report.length === survey.mechanism.width);
    const read = survey.mechanism.read(report);
    const hex = [...report].map((one) => one.toString(16).padStart(2, "0")).join(" ");
    return [
      ...read.flatMap((part) => meaning(part, read.length)),
      say(h("p"), "everyAnswer", () => ({ ratio: roundedUp(ratio) })),
      h("details", {}, say(h("summary"), "bytes"), h("pre", { tabindex: "0" }, `${hex}\n\n${response.body}`)),
      h("p", {}, say(h("span"), "receipt"), ": ", h("code", {}, (await sha256(sent!.id)).slice(0, 16))),
    ];
  }

  /** Leave this device; what was not counted yet is deleted only if its person says so. */
  function askToLeave(response: Kept, ask: HTMLElement): void {
    const go = async (): Promise<void> => {
      forget(response);
      await leave(response);
      tabs.postMessage(nameOf(response));
      await showLeft(response);
    };
    if (root.dataset.state === "counted") return void go();
    ask.replaceChildren(
      say(h("p", { role: "alert" }), "leaveUnsent"),
      say(h("button", { type: "button", click: go }), "leaveAnyway"),
      say(h("button", { type: "button", click: () => ask.replaceChildren() }), "stay"),
    );
  }

  /** Drop everything that this page has of a response. */
  function forget(response: Kept): void {
    gone.add(response);
    cover();
    cover = () => {};
    main.replaceChildren();
  }

  /** What tabs call a response, so that they drop nothing that is another person's. */
  const nameOf = ({ collection, person }: Kept): string => `${collection} ${person}`;

  /** Whether this device still has a response whose person has not left, in this tab or another. */
  const here = async (response: Kept): Promise<boolean> => !gone.has(response) && (await found(response))?.state !== "left";

  /** The person of a response has left in another tab. */
  function gotLeft(response: Kept): Promise<void> {
    forget(response);
    return showLeft(response);
  }

  async function showLeft(response: Kept): Promise<void> {
    main.replaceChildren(say(h("p", { role: "status", class: "status" }), "left"), ...nextPerson(response));
    become("left");
    await showLedger();
  }

  /** Lets another person answer on this device, where the survey says that people may. */
  function nextPerson({ person }: Kept): HTMLElement[] {
    if (!texts.second_person || opened !== "open") return [];
    const note = h("div");
    const ask = (): void =>
      note.replaceChildren(
        say(h("p", { role: "alert" }), "secondNote", () => ({ epsilon: survey.epsilon })),
        say(h("button", { type: "button", click: () => showForm(person + 1) }), "secondStart"),
      );
    return [h("p", {}, say(h("button", { type: "button", click: ask }), "second")), note];
  }

  async function send(response: Kept, status: HTMLElement, again: HTMLElement): Promise<void> {
    again.hidden = true;
    become("sending");
    void showLedger();
    const became = await deliver(url, response, () => here(response), (waiting) => {
      if (gone.has(response)) return;
      become(waiting === "delay" ? "sending" : waiting);
      say(status, waiting);
    });
    // Nothing is written about somebody who left meanwhile.
    const noted = became && !gone.has(response) && (await note(became));
    if (gone.has(response)) return;
    if (noted) told(became, status, again);
    else await gotLeft(response);
  }

  function told(response: Kept, status: HTMLElement, again: HTMLElement): void {
    const stopped = response.state === "stopped";
    say(status, stopped ? "stopped" : "counted", () => ({ problem: response.problem ?? "", contact: texts.contact }));
    again.hidden = !stopped;
    become(stopped ? "stopped" : "counted");
    if (!stopped) main.querySelector(".sent")?.append(...nextPerson(response));
    void showLedger();
  }

  /** One part of a report in words, and how likely it was from every answer. */
  function meaning({ attributes, reading }: Part, parts: number): HTMLElement[] {
    const columns = attributes.map((j) => everyColumn[j]!);
    const sizes = attributes.map((j) => Number(survey.mechanism.sizes[j]!));
    const k = sizes.reduce((product, size) => product * size, 1);
    const name = (code: number): string => {
      const parts = sizes.map((size, j) => {
        const step = sizes.slice(j + 1).reduce((product, one) => product * one, 1);
        return columns[j]!.label(Math.floor(code / step) % size);
      });
      return parts.join(" · ");
    };
    const question = (): string => columns.map((one) => one.question()).join(" · ");
    const codes = Array.from({ length: Math.min(k, SCANNED) }, (_, code) => code);
    const near = codes.filter((code) => reading.supports(BigInt(code)));
    const rows = h("tbody");
    const row = (label: HTMLElement, chance: Fraction): void => {
      label.setAttribute("scope", "row");
      rows.append(h("tr", {}, label, h("td", {}, chanceText(chance))));
    };
    const few = (): string => near.slice(0, EXAMPLES).map(name).join(", ") + (near.length > EXAMPLES || k > SCANNED ? ", …" : "");
    if (k <= LISTED) {
      for (const code of codes)
        row(say(h("th"), () => name(code)), near.includes(code) ? reading.likely : reading.unlikely);
    } else {
      if (near.length) row(say(h("th"), few), reading.likely);
      row(say(h("th"), "others", () => ({ count: k - near.length })), reading.unlikely);
    }
    const head = h("tr", {}, say(h("th", { scope: "col" }), "answer"), say(h("th", { scope: "col" }), "chance"));
    return [
      ...(parts > 1 || attributes.length === everyColumn.length ? [] : [say(h("p"), "drawn", () => ({ question: question() }))]),
      say(h("p", { class: "reported" }), "reported", () => ({ labels: near.length ? few() : fill("nothing", {}) })),
      h("table", {}, say(h("caption"), "meaning", () => ({ question: question() })), h("thead", {}, head), rows),
    ];
  }

  // ---------------------------------------------------------------- the ledger

  async function showLedger(): Promise<void> {
    const entries = await ledger();
    const label = { drawn: "stateDrawn", counted: "stateCounted", stopped: "stateStopped", left: "stateLeft" } as const;
    const heads = (["survey", "epsilon", "state"] as const).map((key) => say(h("th", { scope: "col" }), key));
    const rows = entries.map((one) =>
      h("tr", {}, h("td", {}, one.title || one.collection.slice(0, 12)), h("td", {}, one.epsilon), say(h("td"), label[one.state])),
    );
    const status = h("p", { role: "status" });
    const file = h("input", {
      type: "file",
      id: "deniable-file",
      accept: "application/json",
      change: async () => {
        try {
          for (const one of imported(await file.files![0]!.text())) await keep(one);
          await showLedger();
          device.querySelector("details")!.open = true;
          say(device.querySelector<HTMLElement>("[role=status]")!, "loaded");
        } catch {
          say(status, "notLoaded");
        }
      },
    });
    const save = (): void => {
      const link = h("a", { download: "deniable-ledger.json", href: URL.createObjectURL(new Blob([exported(entries)], { type: "application/json" })) });
      link.click();
      setTimeout(() => URL.revokeObjectURL(link.href), 1000);
    };
    const sum = h("tr", {}, say(h("th", { scope: "row" }), "sum"), h("td", {}, String(Number(total(entries).toPrecision(9)))), h("td"));
    device.replaceChildren(
      h(
        "details",
        {},
        say(h("summary"), "device"),
        h("table", {}, h("thead", {}, h("tr", {}, ...heads)), h("tbody", {}, ...rows), h("tfoot", {}, sum)),
        say(h("p"), "perOrigin"),
        h("p", {}, say(h("button", { type: "button", click: save }), "save")),
        h("p", {}, say(h("label", { for: file.id }), "load"), file),
        status,
      ),
    );
  }

  addEventListener("pagehide", () => cover());
  document.addEventListener("visibilitychange", () => {
    // A form is kept: people look things up elsewhere while they answer.
    if (document.hidden && root.dataset.state !== "form") cover();
  });
  await begin();
}

const base64 = (bytes: Uint8Array): string =>
  btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join("")).replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, "");

/** Mount every element that says which survey it is for: `data-collection`, and in `data-api` where that is collected. */
export function mountAll(): void {
  for (const root of document.querySelectorAll<HTMLElement>("[data-collection]")) {
    const { collection = "", api = "/api/v1", pinned } = root.dataset;
    // A page that was written for one survey has the digits of its link; elsewhere the address has to. Where the address
    // has them, whoever serves the page cannot name others.
    const hash = location.hash.slice(1);
    const link = pinned === undefined || LINK.test(hash) ? hash : pinned;
    void mount(root, { api, collection, link });
  }
}
