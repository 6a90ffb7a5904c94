// The survey page: welcome, one question a screen, review, sending, and the outcome.

import { AnswerError } from "./answers.js";
import { Asking } from "./asking.js";
import { badge, button, h, mark, type Sign } from "./element.js";
import { Refusal } from "./exact.js";
import { known } from "./invitation.js";
import { drawOf, load, type Loaded, type Place, randomised, remembered } from "./loading.js";
import { over, panel } from "./panel.js";
import { contact, how, ornament, promise, what } from "./protection.js";
import { Question } from "./questions.js";
import { deliver, hurry } from "./send.js";
import { second } from "./records.js";
import { asked as askedOf } from "./schema.js";
import { contents } from "./sent.js";
import { account, found, keep, type Kept, kept, leave, ledger, nextPerson, note } from "./store.js";
import { LINK } from "./terms.js";
import { type Key, SHIPPED, translate } from "./text.js";
import { preferred, Voice } from "./voice.js";

/**
 * A person's place in the survey, which the entry of the history keeps: 0 is the welcome, then come the questions, then the
 * review.
 */
interface Step {
  readonly collection: string;
  readonly at: number;
  /** Number of entries of this page before this entry. */
  readonly depth: number;
}


/**
 * Draw the survey of a place into an element, once everything about it has been checked. A preview only shows how the page works:
 * nothing is sent, and nothing is kept or read on this device.
 */
export async function mount(root: HTMLElement, place: Place, preview = false, earlier: readonly string[] = []): Promise<void> {
  try {
    root.classList.add("deniable");
    // A preview is for people who have logged in.
    const loaded = load(place, preview ? "same-origin" : "omit").catch(async (error: unknown) => {
      // A link may have been made for an earlier round at the same address.
      for (const collection of earlier) {
        const found = await load({ ...place, collection }).catch(() => undefined);
        if (found) return found;
      }
      throw error;
    });
    await show(root, await loaded, preview);
  } catch (error) {
    await refuse(root, error);
  }
}

const REFUSALS: Record<Refusal["why"], readonly Key[]> = {
  tampered: ["tampered", "differs", "newLink"],
  refused: ["refused", "unknown"],
  unreachable: ["unreachable", "tryLater"],
  old: ["old", "cannot", "newer"],
  cut: ["cut", "whole"],
};

/** Say why there is no survey. One of the reasons is that the browser cannot keep a report. */
async function refuse(root: HTMLElement, error: unknown): Promise<void> {
  // All languages are loaded, because it is nobody's business whose browser asks for which language.
  await translate(SHIPPED);
  const voice = new Voice(preferred(SHIPPED));
  const why = error instanceof Refusal ? error.why : "old";
  const [title, ...rest] = REFUSALS[why];
  root.dataset.state = "refused";
  speakIn(root, voice, voice.fill(title!));
  root.replaceChildren(
    h("header", {}, brand()),
    h(
      "section",
      { role: "alert" },
      badge("alert"),
      voice.say(h("h1"), title!),
      ...rest.map((key) => voice.say(h("p"), key)),
      h("details", {}, voice.say(h("summary"), "organiser"), h("p", { lang: "en", dir: "ltr" }, error instanceof Refusal ? error.message : String(error))),
    ),
  );
}

const brand = (): HTMLElement => h("p", { class: "brand" }, mark(), h("span", {}, "deniable"));

/** Give a page its language and title, if the page is only for this survey. */
function speakIn(root: HTMLElement, { tag, direction }: Voice, title: string): void {
  const own = root.dataset.slug !== undefined;
  for (const one of own ? [root, document.documentElement] : [root]) [one.lang, one.dir] = [tag, direction];
  if (own) document.title = title;
}

/** Show a survey that has been checked. The functions of one page share the variables that are declared here. */
async function show(root: HTMLElement, loaded: Loaded, preview: boolean): Promise<void> {
  const { survey, texts, url, state: opened, invited } = loaded;
  const tags = Object.keys(texts.languages);
  await translate(tags);
  const voice = new Voice(preferred(tags), (tag) => texts.languages[tag]?.interface);
  const asking = new Asking(survey, texts, voice);
  /** Responses whose person has left. They are not sent again. */
  const gone = new Set<Kept>();
  const tabs = new BroadcastChannel("deniable");
  const main = h("div", { class: "screens" });
  const device = h("section", { class: "device" });
  const last = survey.attributes.length + 1;
  /** The card with what was sent, in words. It may be shown or hidden. */
  let card: HTMLElement | undefined;
  /** Forget the answers, or hide what was sent, when the page is left. */
  let cover = (): void => {};
  /** Show a step of the survey; undefined while nobody answers. */
  let follow: ((at: number) => void) | undefined;

  // ---------------------------------------------------------------- screens

  function become(name: string): void {
    root.dataset.state = name;
    // While people answer and send, the list of this device is hidden.
    device.hidden = ["question", "review", "sending"].includes(name);
  }

  /** Show a screen that ends an action: a sign, a title, and further texts and buttons. */
  function end(name: string, sign: Sign | undefined, title: Key | (() => string), ...rest: HTMLElement[]): void {
    follow = undefined;
    const heading = voice.say(h("h1", { tabindex: -1 }), title);
    voice.forget(main);
    main.replaceChildren(h("section", { class: "end" }, ...(sign ? [badge(sign)] : [sendingSign()]), heading, ...rest));
    become(name);
    heading.focus();
    showDevice();
  }

  /** Show what this device has sent. A preview shows nothing. */
  function showDevice(): void {
    if (!device.hidden && !preview) void panel().then((one) => one.show(voice, device), () => {});
  }

  const sendingSign = (): SVGSVGElement => mark("toss");
  const text = (key: Key, values?: Parameters<Voice["say"]>[2], name = ""): HTMLElement => voice.say(h("p", { class: name }), key, values);
  const act = (key: Key, click: () => unknown, name = ""): HTMLButtonElement => voice.say(button(click, name), key);
  /** The buttons at the end of a screen, where a thumb reaches them. */
  const acts = (...buttons: HTMLElement[]): HTMLElement => h("div", { class: "acts" }, ...buttons);
  const asked = (): HTMLElement => text("contact", () => ({ contact: contact(texts) }));

  function frame(): void {
    const choose = h("select", {
      id: "deniable-language",
      change: () => {
        voice.change(choose.value);
        speakIn(root, voice, asking.language.title);
      },
    });
    const names = (tag: string): string => new Intl.DisplayNames([tag], { type: "language" }).of(tag) ?? tag;
    choose.append(...tags.map((tag) => h("option", { value: tag, lang: tag }, names(tag))));
    choose.value = voice.tag;
    const label = voice.say(h("label", { for: choose.id, class: "aside" }), "language");
    root.replaceChildren(h("header", {}, brand(), ...(tags.length > 1 ? [label, choose] : []), act("exit", vanish)), main, device);
    speakIn(root, voice, asking.language.title);
  }

  async function begin(): Promise<void> {
    if (preview) {
      frame();
      return ask(1);
    }
    // Two invited people may share a device, each with a link.
    const first = await kept(survey.id, invited?.mark);
    const entries = await ledger();
    frame();
    const { opens_at: opens, closes_at: closes } = texts;
    if (first) return showKept(first);
    if (entries.some((one) => survey.learnedFrom.includes(one.collection))) return end("earlier", "over", "already", text("earlier"), asked());
    if (opened === "closed" || opened === "closing") {
      const ended = closes && Date.parse(closes) <= Date.now() ? [text("ended", () => ({ date: voice.numerals.day(closes) }))] : [];
      return end("closed", "over", "closed", ...ended, still(), asked());
    }
    if (opened !== "open") {
      const later = opens && Date.parse(opens) > Date.now() ? [text("opens", () => ({ date: voice.numerals.day(opens) }))] : [];
      return end("notOpen", "over", "notOpen", ...later, still(), asked());
    }
    const person = await nextPerson(survey.id);
    if (!(await full(person))) ask(person, (step()?.at ?? 0) > 0);
  }

  /** Return whether one more report would take the person's total above their limit. If so, say by how much. */
  async function full(person: number): Promise<boolean> {
    const all = await account();
    if (!all.limit || person > 1) return false;
    // The amount that a report adds depends on the permanent responses that it would be made of.
    const list = await panel();
    const more = list.over(all, drawOf(loaded, person, await remembered(loaded, person)));
    if (more) end("full", "over", () => list.fill(voice, "over"), voice.say(h("p"), () => list.fill(voice, "overBy", more)), asked());
    return !!more;
  }

  const still = (): HTMLElement => voice.say(h("p"), () => `${voice.fill("still")}.`);

  /** Forget the answers and the screen, and leave the page. The address leaves the history as well. */
  function vanish(): void {
    cover();
    root.replaceChildren();
    const go = (): void => location.replace("about:blank");
    const back = step()?.depth ?? 0;
    if (!back) return go();
    // The entries of earlier screens would still show the survey, although none of its answers.
    addEventListener("popstate", go);
    setTimeout(go, 300);
    history.go(-back);
  }

  // ---------------------------------------------------------------- answering

  function step(): Step | undefined {
    const { deniable } = (history.state ?? {}) as { deniable?: Step };
    return deniable?.collection === survey.id ? deniable : undefined;
  }

  /** Write the number of this step into the history's entry, or into a new entry. Answers are never written. */
  function write(at: number, added: boolean): void {
    const deniable: Step = { collection: survey.id, at, depth: (step()?.depth ?? 0) + Number(added) };
    const state = { ...(history.state as object | null), deniable };
    if (added) history.pushState(state, "");
    else history.replaceState(state, "");
  }

  /** Let a person answer. Reloading the page may have lost earlier answers. */
  function ask(person: number, lost = false): void {
    const questions = survey.attributes.map((one, j) => new Question(asking, one, j));
    const agree = (): { readonly box: HTMLElement; readonly input: HTMLInputElement; check(): boolean } => {
      const input = h("input", { type: "checkbox", name: "agree", "aria-describedby": "deniable-tick" });
      const fault = h("p", { class: "fault", role: "alert", id: "deniable-tick" });
      input.addEventListener("change", () => fault.replaceChildren());
      const box = h(
        "div",
        { class: "consent" },
        voice.say(h("h2"), "consentTitle"),
        voice.say(h("p", { class: "terms" }), () => asking.language.consent),
        h("label", { class: "agree" }, input, voice.say(h("span"), "agree")),
        fault,
      );
      const check = (): boolean => {
        if (!input.checked) {
          voice.forget(fault);
          voice.say(fault, texts.consent_first ? "tickFirst" : "tick");
          input.focus();
        }
        return input.checked;
      };
      return { box, input, check };
    };
    const consent = agree();
    const lostNote = voice.say(h("p", { class: "note", role: "status", hidden: !lost }), "reloaded");
    const { attributes } = survey;
    const facts = [
      voice.say(h("li"), () => `${voice.fill("questions")}: ${voice.numerals.text(attributes.length)}`),
      ...(texts.closes_at ? [voice.say(h("li"), "until", () => ({ date: voice.numerals.day(texts.closes_at!) }))] : []),
    ];
    const welcome = h(
      "section",
      { class: "welcome" },
      lostNote,
      ornament(asking),
      voice.say(h("h1", { tabindex: -1 }), () => asking.language.title),
      voice.say(h("p"), () => asking.language.intro),
      h("ul", { class: "facts" }, ...facts),
      promise(asking),
      ...(survey.series ? [text("times", undefined, "note")] : []),
      ...(invited ? [text("onePerson", undefined, "small"), text("inviter", undefined, "small")] : []),
      ...(texts.consent_first ? [consent.box] : []),
      voice.say(h("button", { type: "submit", class: "go" }), "start"),
      text("stop", undefined, "small"),
      h("div", { class: "more" }, how(asking), what(asking)),
    );
    const answers = h("dl", { class: "answers" });
    const trouble = h("p", { class: "fault", role: "alert" });
    const review = h(
      "section",
      { class: "review" },
      voice.say(h("h1", { tabindex: -1 }), "check"),
      text(`press${asking.sends()}`),
      answers,
      ...(texts.consent_first ? [] : [consent.box]),
      trouble,
    );
    const next = h("button", { type: "submit", class: "go" });
    const foot = h(
      "div",
      { class: "acts" },
      h("div", { class: "row" }, act("back", () => history.back()), next),
      voice.say(h("p", { class: "still" }), "still"),
      act("wipe", wipe, "plain"),
    );
    const screens = [welcome, ...questions.map((one) => one.screen), review];
    const form = h(
      "form",
      {
        autocomplete: "off",
        novalidate: true,
        submit: (event) => {
          event.preventDefault();
          forward().catch((error: unknown) => refuse(root, error));
        },
      },
      ...screens,
      foot,
    );
    let at = 0;
    /** Which questions are asked, as far as the answers tell. */
    let asks: boolean[];
    /** Whether all questions have been answered once. A change then leads back to the review. */
    let whole = false;
    let drawing = false;

    function go(to: number): void {
      // A step needs the answers before it. They are gone if the entry was reloaded.
      asks = askedOf(attributes, questions.map((one) => one.answer));
      const missing = questions.findIndex((one, j) => asks[j] && one.answer === undefined);
      at = Math.min(to, missing < 0 ? last : missing + 1);
      while (asks[at - 1] === false) at++;
      if (!consentGiven()) at = 0;
      screens.forEach((one, i) => (one.hidden = i !== at));
      foot.hidden = !at;
      if (at) lostNote.hidden = true;
      foot.classList.toggle("last", at === last);
      if (at === last) overview();
      whole ||= at === last;
      voice.forget(next);
      voice.say(next, at === last ? "send" : at === last - 1 || whole ? "review" : "next");
      become(at === last ? "review" : at ? "question" : "welcome");
      if (root.dataset.slug !== undefined) scrollTo(0, 0);
    }

    const focus = (): void => screens[at]!.querySelector("h1")!.focus();
    const consentGiven = (): boolean => !texts.consent_first || consent.input.checked;

    function overview(): void {
      voice.forget(answers);
      answers.replaceChildren(
        ...questions.flatMap((one, j) => {
          if (!asks[j]) return [];
          const change = act("change", () => to(j + 1));
          change.setAttribute("aria-describedby", `deniable-asked-${j}`);
          return h(
            "div",
            {},
            voice.say(h("dt", { id: `deniable-asked-${j}` }), () => asking.question(one.attribute)),
            voice.say(h("dd"), () => one.spoken),
            h("dd", {}, change),
          );
        }),
      );
    }

    /** Go on to a step. */
    function to(there: number): void {
      write(there, true);
      go(there);
      focus();
    }

    async function forward(): Promise<void> {
      if (drawing) return;
      if (at === 0) {
        if (!texts.consent_first || consent.check()) to(1);
      } else if (at < last) {
        if (questions[at - 1]!.check()) to(whole ? last : at + 1);
      } else if (texts.consent_first || consent.check()) {
        drawing = true;
        if (await unused()) await send();
      }
    }

    /**
     * Return whether a report may still be drawn for the invitation. A cleared browser, or another browser, must not draw again
     * if a report was counted. The collector is asked now and not at the start, so that nobody can time how long a person takes
     * to answer.
     */
    async function unused(): Promise<boolean> {
      const found = invited ? await known(url, invited) : "new";
      if (found === "new") return true;
      drawing = false;
      voice.forget(trouble);
      if (!found) voice.say(trouble, "tryLater");
      else {
        drop();
        if (found === "counted") end("used", "over", "used", text("usedOnce"), asked());
        else end("uninvited", "alert", "uninvited", text("withdrawn", () => ({ contact: contact(texts) })));
      }
      return false;
    }

    /** Draw the report, keep it, and drop the answers. */
    async function send(): Promise<void> {
      let drawn: Kept;
      const memo = await remembered(loaded, person, preview);
      try {
        drawn = randomised(loaded, questions.map((one) => one.answer ?? null), person, memo);
      } catch (error) {
        if (!(error instanceof AnswerError)) throw error;
        drawing = false;
        const place = attributes.findIndex((one) => one.name === error.attribute);
        return to(place + 1);
      }
      // From here on, nothing on this device has the answers.
      drop();
      if (preview) {
        const sent = await contents(asking, drawn, "wouldSend");
        return end("previewed", "done", "previewed", text("previewedNote"), sent, acts(act("previewAgain", () => ask(1), "go")));
      }
      const counts = await keep(await second().then(({ withLeaf }) => withLeaf(drawn), () => drawn), drawOf(loaded, person, memo), await over());
      // Without a response, another tab has spent the rest of the limit.
      if (counts) await showKept(counts);
      else if (!(await full(person))) await refuse(root, new Refusal("The limit of this device could not be checked.", "unreachable"));
    }

    /** Drop the answers, and the fields that they were in. */
    function drop(): void {
      follow = undefined;
      cover = () => {};
      write(0, false);
      form.reset();
      questions.length = 0;
      form.replaceChildren();
      form.remove();
      voice.forget(main);
    }

    function wipe(): void {
      drop();
      end("gone", "over", "wiped", text("later"));
    }

    voice.forget(main);
    main.replaceChildren(form);
    // Nothing of an earlier person is on this page any more. So a person who leaves in another tab does not change this form.
    tabs.onmessage = null;
    // A person who comes back to this page, or uses the device next, finds an empty form.
    cover = () => {
      const answered = at > 0;
      drop();
      ask(person, answered);
    };
    follow = (there) => {
      go(there);
      focus();
    };
    write(0, false);
    go(0);
    showDevice();
  }

  // ---------------------------------------------------------------- the outcome

  /** Show the outcome of a response. */
  async function showKept(response: Kept): Promise<void> {
    // A person who leaves in another tab of this device has left here as well, also after this page was loaded.
    tabs.onmessage = ({ data }) => {
      if (data === nameOf(response)) gotLeft(response);
    };
    if (!(await here(response))) return showLeft(response);
    if (response.state === "counted") {
      return end("already", "done", "already", text("onceOnly"), looker(response), shared(), ...otherPerson(response), acts(act("leave", () => leaveNow(response), "go")));
    }
    if (response.state === "stopped") return told(response);
    await send(response);
  }

  /** A place for the button that looks for a counted report, which is in the second file. */
  function looker({ leaf }: Kept): HTMLElement {
    const spot = h("div");
    if (leaf) void second().then(({ looker }) => looker({ h, button }, voice, spot, url, leaf, texts.contact));
    return spot;
  }

  const shared = (): HTMLElement => text("shared", undefined, "note");

  async function send(response: Kept): Promise<void> {
    const status = h("p", { role: "status" });
    end("sending", undefined, "sending", voice.say(status, "stays"));
    let shown = "sending";
    const became = await deliver(url, response, () => here(response), (waiting, milliseconds) => {
      if (gone.has(response) || waiting === "sending") return;
      // A wait that is too short to be read about is not shown.
      if (waiting === "busy" && shown === "sending" && milliseconds < 1000) return;
      const s = Math.max(2, Math.ceil(milliseconds / 1000));
      const says = voice.say(h("p", { role: "status" }), waiting === "busy" ? "wait" : "ready", () => ({ s }));
      if (shown === waiting) main.querySelector("[role=status]")!.replaceWith(says);
      else {
        const ask = h("div");
        end(waiting, waiting, waiting, says, ask, acts(act("again", () => hurry.dispatchEvent(new Event("now")), "go"), act("drop", () => askToLeave(response, ask), "plain")));
      }
      shown = waiting;
    });
    // Nothing is written about a person who left in the meantime.
    const noted = became && !gone.has(response) && (await note(became));
    if (gone.has(response)) return;
    if (noted) await told(became, response.body);
    else gotLeft(response);
  }

  /** Say how sending ended. What was sent is shown on request, while this page still has it. */
  async function told(response: Kept, body = ""): Promise<void> {
    if (response.state === "stopped") {
      const ask = h("div");
      const how = text("ask", () => ({ contact: contact(texts), code: h("code", {}, response.problem ?? "?") }));
      const again = (): Promise<void> => send(response).catch((error: unknown) => refuse(root, error));
      return end("rejected", "alert", "rejected", text("kept"), how, ask, acts(act("again", again, "go"), act("drop", () => askToLeave(response, ask), "plain")));
    }
    const sent = body ? await shower({ ...response, body }) : [];
    if (gone.has(response)) return;
    const thanks = voice.say(h("p"), () => asking.language.thanks);
    end("counted", "done", "counted", thanks, ...sent, shared(), ...otherPerson(response), acts(act("leave", () => leaveNow(response), "go")));
  }

  /** A button that shows what was sent and hides it again. It is also hidden whenever the page is hidden. */
  async function shower(response: Kept): Promise<HTMLElement[]> {
    const words = await contents(asking, response);
    card = words;
    const sent = h("div", { id: "deniable-sent", class: "sent" });
    const toggle = button(() => {
      const shown = !sent.childElementCount;
      show(shown);
      (shown ? words : toggle).focus();
    });
    toggle.setAttribute("aria-controls", sent.id);
    const show = (shown: boolean): void => {
      toggle.setAttribute("aria-expanded", String(shown));
      voice.forget(toggle);
      voice.say(toggle, shown ? "hide" : "show");
      sent.replaceChildren(...(shown ? [words] : []));
    };
    cover = () => show(false);
    cover();
    return [toggle, sent];
  }

  /** Leave this device. A report that was not counted yet is deleted only if its person says so. */
  function askToLeave(response: Kept, ask: HTMLElement): void {
    ask.replaceChildren(
      voice.say(h("p", { role: "alert" }), "leaveUnsent"),
      h("div", { class: "row" }, act("leaveAnyway", () => leaveNow(response)), act("stay", () => ask.replaceChildren())),
    );
  }

  async function leaveNow(response: Kept): Promise<void> {
    forget(response);
    await leave(response);
    tabs.postMessage(nameOf(response));
    showLeft(response);
  }

  /** Drop everything that this page has of a response. */
  function forget(response: Kept): void {
    gone.add(response);
    cover();
    cover = () => {};
    if (card) voice.forget(card);
    card = undefined;
    voice.forget(main);
    main.replaceChildren();
  }

  /** The name of a response among tabs, so that they drop nothing of another person. */
  const nameOf = ({ collection, person }: Kept): string => `${collection} ${person}`;

  /** Whether this device still has a response whose person has not left, in this tab or another. */
  const here = async (response: Kept): Promise<boolean> => !gone.has(response) && (await found(response))?.state !== "left";

  /** The person of a response has left in another tab. */
  function gotLeft(response: Kept): void {
    forget(response);
    showLeft(response);
  }

  function showLeft(response: Kept): void {
    const draws = survey.mechanism.memoised ? [text("markDraws")] : [];
    end("left", "over", "left", text("mark"), ...draws, text("close"), ...otherPerson(response));
  }

  /** Let another person answer on this device, if the survey allows it. */
  function otherPerson({ person }: Kept): HTMLElement[] {
    if (!texts.second_person || opened !== "open") return [];
    const note = h("div");
    const second = act("second", () => note.replaceChildren(voice.say(h("p", { role: "alert" }), "secondNote"), act("secondStart", () => ask(person + 1))));
    return [second, note];
  }

  addEventListener("popstate", () => follow?.(step()?.at ?? 0));
  addEventListener("pagehide", () => cover());
  document.addEventListener("visibilitychange", () => {
    // During the survey answers are kept, because people look things up elsewhere while they answer.
    if (document.hidden && !follow) cover();
  });
  await begin();
}

/** Mount every element that names its survey in `data-collection`. Its `data-api` has the collector's address. */
export function mountAll(): void {
  for (const root of document.querySelectorAll<HTMLElement>("[data-collection]")) {
    const { collection = "", api = "/api/v1", pinned, earlier } = root.dataset;
    // A page that was written for one survey contains the digits of its link. On other pages the address must have them. If the
    // address has the digits, the server of the page cannot name other digits.
    const hash = location.hash.slice(1);
    const link = pinned === undefined || LINK.test(hash) ? hash : pinned;
    void mount(root, { api, collection, link }, root.dataset.preview !== undefined, earlier?.split(" "));
  }
}
