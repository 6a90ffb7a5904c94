// The sentences of the page that say nothing about the guarantee or the report. It is apart from the sentences, which the
// client without its page does not need.

/** The keys that `interface` of a page document may replace, each with the places of its sentence that are filled in. */
export const FREE: ReadonlyMap<string, readonly string[]> = new Map(
  Object.entries({
    language: [],
    consentTitle: [],
    agree: [],
    contact: ["{contact}"],
    questions: [],
    several: [],
    number: [],
    between: ["{low}", "{high}", "{example}"],
    word: [],
    noWord: [],
    again: [],
    answer: [],
    survey: [],
    state: [],
    save: [],
    load: [],
    loaded: [],
    notLoaded: [],
  }),
);

/** The places of a sentence that are filled in, as "{epsilon}". */
export const places = (sentence: string): string[] => sentence.match(/\{\w+\}/g) ?? [];
