// From a survey's link to a counted report, for pages that have a form of their own.

import { must } from "../src/exact.js";
import { known } from "../src/invitation.js";
import type { Answer } from "../src/kind.js";
import { drawOf, type Loaded, randomised, remembered } from "../src/loading.js";
import { over } from "../src/panel.js";
import { deliver, type Progress } from "../src/send.js";
import { found, keep, type Kept, kept, ledger, nextPerson, note } from "../src/store.js";

/**
 * Draw one report of answers and keep it on this device. A person who has answered here before gets the kept report, and the
 * answers are not read. Drop the answers afterwards, because only the report is kept.
 */
export async function draw(loaded: Loaded, answers: readonly Answer[]): Promise<Kept> {
  const { survey, invited, url } = loaded;
  const first = await kept(survey.id, invited?.mark);
  if (first) return first;
  must(loaded.state === "open", "This survey is not open.", "refused");
  const before = (await ledger()).some((one) => loaded.survey.learnedFrom.includes(one.collection));
  must(!before, "An earlier part of this survey was answered on this device.", "refused");
  // A report that was counted for an invitation, perhaps on another device, must not be drawn again.
  must(!invited || (await known(url, invited)) === "new", "This invitation was used before, or is not valid.", "refused");
  const person = await nextPerson(survey.id);
  const memo = await remembered(loaded, person);
  const response = randomised(loaded, answers, person, memo);
  const counts = await keep(response, drawOf(loaded, person, memo), await over());
  must(counts, "This report would take the person's total above the limit that they set on this device.", "refused");
  return counts;
}

/**
 * Send a report that `draw` returned until it is counted, or refused for good. Return its outcome, or undefined if its person
 * has left in the meantime. A report that is already counted is not sent again.
 */
export async function send({ url }: Loaded, response: Kept, progress: Progress = () => {}): Promise<Kept | undefined> {
  if (response.state === "counted" || response.state === "left") return response;
  const here = async (): Promise<boolean> => (await found(response))?.state !== "left";
  const became = await deliver(url, response, here, progress);
  return became && (await note(became)) ? became : undefined;
}
