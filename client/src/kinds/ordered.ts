// One of a list of categories that stand in an order, from least to most.

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
    // For the analyst: they are part of the id.
    const scores = keys.has("scores") ? keys.list("scores").map(plainNumber) : undefined;
    must(!scores || scores.length === categories.length);
    return { ...own, scored: !!scores || (!edges && categories.every((label) => canonicalDecimal(label) !== undefined)) };
  },
  codes: (one, answer) => listed(one, answer),
  control: (one, field) => choice(one, field, "scale"),
};
