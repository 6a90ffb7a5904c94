// The questions of a survey. Each has a screen, whose controls contain the answer. No other place does.

import type { Asking } from "./asking.js";
import { h } from "./element.js";
import type { Answer, Attribute, Control, Field } from "./kind.js";

/** One question on its screen. */
export class Question {
  readonly screen: HTMLElement;
  private readonly _control: Control;
  private readonly _fault = h("p", { class: "fault", role: "alert" });
  private _wrong = false;
  private readonly _box: HTMLElement;
  /** Say what is missing, or take this sentence away again. */
  private readonly _blame: (wrong: boolean) => void;

  constructor(
    asking: Asking,
    readonly attribute: Attribute,
    at: number,
  ) {
    const { voice, survey } = asking;
    const name = `deniable-${at}`;
    const count = survey.attributes.length;
    this._fault.id = `${name}-fault`;
    const title = h("h1", { tabindex: -1, id: `${name}-title` });
    voice.say(title, () => {
      const question = asking.question(attribute);
      // Many words in large letters would leave no room for the answers.
      title.classList.toggle("long", question.length > 90);
      return question;
    });
    const steps = Array.from({ length: count }, (_, i) => h("li", { class: i <= at ? "on" : "" }));
    this._box = h("fieldset", { "aria-describedby": this._fault.id }, h("legend", {}, title));
    const field: Field = {
      box: this._box,
      name,
      choices: (type, codes, group = "") => {
        const inputs = codes.map((code) => h("input", { type, name, value: code }));
        const labels = inputs.map((input, i) => {
          const code = codes[i]!;
          return h("label", { class: code === attribute.categories.length && attribute.missing !== undefined ? "apart" : "" }, input, voice.say(h("span"), () => asking.label(attribute, code)));
        });
        this._box.append(h("div", { class: `choices ${group}` }, ...labels));
        return inputs;
      },
      further: (key) => {
        const input = h("input", { type: "checkbox", name, value: key });
        this._box.lastElementChild!.append(h("label", { class: "apart" }, input, voice.say(h("span"), key)));
        return input;
      },
      label: (code) => asking.label(attribute, code),
      say: (...said) => voice.say(...said),
      fill: (...said) => voice.fill(...said),
      numerals: () => voice.numerals,
    };
    this._control = attribute.kind.control(attribute, field);
    this._box.append(voice.say(this._fault, () => (this._wrong ? this._control.fault() : "")));
    this._blame = (wrong) => {
      this._wrong = wrong;
      voice.speak(this._fault);
      this._box.classList.toggle("wrong", wrong);
      const typed = this._box.querySelector(".typed");
      if (wrong) typed?.setAttribute("aria-invalid", "true");
      else typed?.removeAttribute("aria-invalid");
    };
    this._box.addEventListener("input", () => this._wrong && this._blame(false));
    this.screen = h(
      "section",
      {},
      h("div", { class: "step" }, voice.say(h("p"), "progress", () => ({ i: at + 1, n: count })), h("ol", { "aria-hidden": "true", class: count > 20 ? "many" : "" }, ...steps)),
      this._box,
    );
  }

  /** The answer; undefined if there is none. */
  get answer(): Answer | undefined {
    return this._control.read();
  }

  /** The answer as it is shown to the person again. */
  get spoken(): string {
    return this.answer === undefined ? "" : this._control.spoken();
  }

  /** Return whether there is an answer. If not, say beside its controls what is missing. */
  check(): boolean {
    const there = this.answer !== undefined;
    this._blame(!there);
    if (!there) this._box.querySelector("input")!.focus();
    return there;
  }
}
