// The answer is any subset of a list of options.

import { labelled, missingCode, otherCode, stated } from "../answers.js";
import { options } from "../controls.js";
import { h } from "../element.js";
import { must } from "../exact.js";
import { texts } from "../json.js";
import type { Kind } from "../kind.js";

/** Whether a text has white space around it, as Python defines white space. */
const padded = (text: string): boolean => /^(?:[\x1c-\x1f\x85]|(?!\ufeff)\s)|(?:[\x1c-\x1f\x85]|(?!\ufeff)\s)$/.test(text);

export const kind: Kind = {
  name: "multiple",
  several: true,
  read: (keys) => ({ categories: texts(keys.list("categories")), separator: stated(keys, "separator", ";") }),
  fits: ({ separator, labels }) => separator && labels.every((label) => label && !label.includes(separator) && !padded(label)),
  /**
   * The codes of the options: ticked or not. The answer is a list, or a text divided at the separator, as in a cell of a table.
   */
  codes(one, answer) {
    must(typeof answer !== "number");
    const divided = typeof answer === "string" || (answer === null && one.missing === undefined);
    const parts = divided ? (answer ?? "").toString().split(one.separator!) : (answer as readonly string[] | null);
    const ticked = new Set<number>();
    for (const part of parts ?? []) {
      const text = part.trim();
      if (!text && divided) continue;
      const code = labelled(one, text);
      ticked.add(code < 0 ? otherCode(one) : code);
    }
    if (parts === null || (divided && !ticked.size && one.missing !== undefined)) ticked.add(missingCode(one));
    return one.labels.map((_, code) => (ticked.has(code) ? 1n : 0n));
  },
  control(one, field) {
    field.box.append(field.say(h("p", { class: "hint" }), "several"));
    return options(one, field);
  },
};
