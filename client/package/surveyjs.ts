// Adapter for SurveyJS (survey-core): marked questions of a form are randomised before the form stores or sends anything.
//
// A marked question keeps what is typed in the question alone, and never hands it to the form: not to its data, its events, or
// its texts. One report of all marked questions is drawn when the page with the last of them is left, or the form is completed.
// The form waits until this device has kept the report. Then the form gets the report, and the questions are emptied.

import type { PageModel, Question, SurveyModel } from "survey-core";
import type { Answer, Attribute } from "../src/kind.js";
import { AnswerError, draw, kept, type Kept, type Loaded, Refusal } from "./index.js";

/** Types of questions whose value is a text, a number, yes or no, or a list of texts. */
const TYPES = ["boolean", "checkbox", "dropdown", "imagepicker", "radiogroup", "rating", "tagbox", "text"];

/** The options of a page. */
export interface Options {
  /** The name of the report in the form's data; "deniable" by default. */
  readonly key?: string;
  /** The text of a question once its answer was randomised. */
  readonly said?: string;
}

/** A form whose marked questions are randomised. */
export interface Protected {
  /** The report that this device keeps, once it is drawn. Send it with `send`, or keep the form's data. */
  readonly report: Promise<Kept>;
}

interface Marked {
  readonly attribute: Attribute;
  readonly question: Question;
}

function need(rule: unknown, message: string): asserts rule {
  if (!rule) throw new Refusal(message, "refused");
}

/** Whether a text of a form names a question: in braces, or in quotes inside of a function. */
function names(text: string, name: string): boolean {
  const [low, wanted] = [text.toLowerCase(), name.toLowerCase()];
  return (low.match(/\{[^{}]*\}/g) ?? []).some((one) => one.includes(wanted)) || [`'${wanted}'`, `"${wanted}"`].some((one) => low.includes(one));
}

function mentioned(part: unknown, name: string): boolean {
  if (typeof part === "string") return names(part, name);
  return typeof part === "object" && part !== null && Object.values(part).some((one) => mentioned(one, name));
}

/** The question of an attribute. It throws a refusal if the answer could reach the form in another way. */
function marking(form: SurveyModel, attribute: Attribute): Marked {
  const { name } = attribute;
  const question = form.getQuestionByName(name);
  need(question, `The form has no question "${name}".`);
  const type = question.getType();
  need(TYPES.includes(type), `Question "${name}" has the type ${type}, and must have one of ${TYPES.join(", ")}.`);
  const own = question as unknown as Record<string, unknown>;
  for (const key of ["showOtherItem", "showCommentArea", "correctAnswer", "valuePropertyName"]) need(!own[key], `Question "${name}" must not have ${key}.`);
  const value = question.getValueName();
  need(form.getAllQuestions().filter((one) => one.getValueName() === value).length === 1, `No other question may share the value of "${name}".`);
  for (const one of [name, value]) need(!mentioned(form.toJSON(), one), `No text or condition of the form may name "${one}": it would show the answer.`);
  return { attribute, question };
}

/** Keep the value of a question in the question. */
function seal(form: SurveyModel, { question }: Marked): void {
  const update = question.updateValueFromSurvey;
  const own = {
    canSetValueToSurvey: () => false,
    getPlainData: () => undefined,
    getStructuredValue: () => undefined,
    // The form has no value for the question, so only clearing the form changes the question.
    updateValueFromSurvey: (_: unknown, clear?: boolean) => clear && update.call(question, undefined, true),
  };
  for (const [name, value] of Object.entries(own)) Object.defineProperty(question, name, { value });
  if (question.getType() === "text") (question as Question & { autocomplete: string }).autocomplete = "off";
  const before = form.valueHashSetDataCallback;
  const name = question.getValueName();
  form.valueHashSetDataCallback = (hash, key, value) => {
    if (key === name) return;
    if (before) before(hash, key, value);
    else hash[key] = value;
  };
}

/** Try with the library that is loaded whether a value of a question stays in the question. */
function tried(form: SurveyModel, { attribute, question }: Marked): void {
  const before = question.value as unknown;
  question.value = question.getType() === "boolean" ? true : attribute.kind.several ? attribute.labels.slice(0, 1) : (attribute.labels[0] ?? "1");
  const name = question.getValueName();
  const seen = [form.data, form.getData({ includePages: false, includePanels: true })].some((one: Record<string, unknown>) => one[name] !== undefined);
  const plain = form.getPlainData().some((one) => one.name === question.name);
  question.value = before;
  need(!seen && !plain, "This version of survey-core is not one that the adapter knows.");
}

function answered({ attribute, question }: Marked): Answer {
  const value: unknown = question.isVisible ? question.value : undefined;
  if (Array.isArray(value)) return value.map(String);
  if (value === undefined || value === null || value === "") return attribute.kind.several ? [] : null;
  return String(value);
}

/**
 * Randomise the questions of a form that have the names of a survey's attributes. Call it before the form is shown: its
 * restrictions apply at once, while it waits for the kept responses of this device.
 */
export async function protect(form: SurveyModel, loaded: Loaded, options: Options = {}): Promise<Protected> {
  const { key = "deniable", said = "Your answer was randomised on this device, and is not kept." } = options;
  const { attributes, id } = loaded.survey;
  need(!form.getQuestionByName(key), `No question may be named "${key}".`);
  const marked = attributes.map((one) => marking(form, one));
  for (const one of marked) seal(form, one);
  for (const one of marked) tried(form, one);

  let drawn: Kept | undefined;
  let tell: (report: Kept) => void;
  const report = new Promise<Kept>((resolve) => (tell = resolve));

  /** Give the form the report, unless the form has it. No bytes are left of a report that was counted. */
  const give = (): void => {
    if (!drawn?.body) return;
    const { reports } = JSON.parse(drawn.body) as { reports: [{ report: string }] };
    form.setValue(key, { collection: id, report: reports[0].report });
  };
  /** The first draw counts. Its questions are emptied, and nobody answers them again. */
  const settle = (one: Kept): void => {
    drawn = one;
    for (const { question } of marked) {
      question.value = undefined;
      question.isRequired = false;
      question.readOnly = true;
      question.description = said;
    }
    tell(one);
  };
  const blame = (error: unknown): void => {
    const { attribute } = error instanceof AnswerError ? error : { attribute: "" };
    const { question } = marked.find((one) => one.attribute.name === attribute) ?? marked[0]!;
    question.addError(String((error as Error).message));
  };
  /** Draw before a page is left or the form is completed. If the draw fails, neither happens. */
  const hold = (leaving: { allow: boolean }): Promise<void> | undefined => {
    if (drawn) return void give();
    const answers = marked.map(answered);
    return draw(loaded, answers)
      .then(settle)
      .then(give)
      .catch((error: unknown) => {
        leaving.allow = false;
        blame(error);
      });
  };
  form.onCurrentPageChanging.add((_, leaving) => {
    const reached = leaving.oldCurrentPage?.visibleIndex ?? -1;
    const asked = marked.every(({ question: { page, isVisible } }) => !isVisible || (page as PageModel).visibleIndex <= reached);
    // If one page is shown in pieces, only the end of the form is known to be an end.
    return leaving.isGoingForward && asked && form.questionsOnPageMode === "standard" ? hold(leaving) : undefined;
  });
  form.onCompleting.add((_, leaving) => hold(leaving));

  // The form gets a kept report only when a page is left, because a host that saves at every change has not restored its own
  // draft yet.
  const first = await kept(id);
  if (first) settle(first);
  return { report };
}
