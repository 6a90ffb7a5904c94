// The keys of sentences that say nothing about the guarantee or the report. They are apart from the sentences themselves, which
// the client without its page does not need.

/** The keys that `interface` of a page document may replace, each with the placeholders of its sentence. */
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

/** The placeholders of a sentence, such as "{epsilon}". */
export const places = (sentence: string): string[] => sentence.match(/\{\w+\}/g) ?? [];
