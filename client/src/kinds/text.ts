// The answer is open text. No page asks for it, because nobody can list the answers.

import { Refusal } from "../exact.js";
import type { Kind } from "../kind.js";

const refused = (): never => {
  throw new Refusal("You cannot answer this survey in a browser, because its question is open text.", "refused");
};

export const kind: Kind = { name: "text", mark: "text", read: refused, codes: refused, control: refused };
