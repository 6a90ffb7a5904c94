// The answer is one category of a list that is ordered from least to most.

import { canonicalDecimal, list, listed } from "../answers.js";
import { choice } from "../controls.js";
import { must } from "../exact.js";
import { plainNumber } from "../json.js";
import type { Kind } from "../kind.js";

export const kind: Kind = {
  name: "ordered",
  read(keys) {
    const own = list(keys);
    const { categories, edges } = own;
    // Scores are for the analyst, and are a part of the id.
    const scores = keys.has("scores") ? keys.list("scores").map(plainNumber) : undefined;
    must(!scores || scores.length === categories.length);
    return { ...own, scored: !!scores || (!edges && categories.every((label) => canonicalDecimal(label) !== undefined)) };
  },
  codes: (one, answer) => listed(one, answer),
  control: (one, field) => choice(one, field, "scale"),
};
