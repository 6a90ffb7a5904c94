// One of a list of categories, which are in no order; or of intervals, which cut points make.

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
