// The answer is one category of a list without an order, or one of the intervals between cut points.

import { list, listed } from "../answers.js";
import { choice } from "../controls.js";
import type { Kind } from "../kind.js";

export const kind: Kind = {
  name: "categories",
  usual: true,
  read: list,
  codes: (one, answer) => listed(one, answer),
  control: (one, field) => choice(one, field),
};
