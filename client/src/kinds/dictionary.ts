// The answer is one word of a public file of thousands or millions of words.

import { exactly, listed } from "../answers.js";
import { typed, type Typing } from "../controls.js";
import { h } from "../element.js";
import { must } from "../exact.js";
import { Keys, sha256 } from "../json.js";
import type { Kind } from "../kind.js";

export const kind: Kind = {
  name: "dictionary",
  mark: "dictionary",
  unlisted: true,
  read(keys) {
    const inner = new Keys(keys.take("dictionary"));
    const [k, digest] = [inner.integer("k"), inner.text("digest")];
    inner.text("file");
    inner.end();
    return { categories: [], dictionary: { k, digest } };
  },
  async loaded(one, read) {
    const list = await words(await read(`/dictionary/${encodeURIComponent(one.name)}`), one.dictionary!);
    return { ...one, categories: list, labels: [...list, ...one.labels] };
  },
  // Another spelling of a number is another word.
  codes: (one, answer) => listed(one, answer, exactly),
  control: (one, field) => typed(one, field, word),
};

/** The words of a dictionary file, if they are the words with which the survey was made. */
async function words(text: string, { k, digest }: { k: number; digest: string }): Promise<string[]> {
  let lines = text.replace(/^\ufeff/, "").replace(/\n$/, "").split("\n");
  if (text.includes("\r")) lines = lines.map((line) => line.replace(/\r$/, ""));
  const encoder = new TextEncoder();
  const encoded = lines.map((line) => encoder.encode(line));
  const content = new Uint8Array(encoded.reduce((sum, word) => sum + word.length + 8, 0));
  const view = new DataView(content.buffer);
  let place = 0;
  for (const word of encoded) {
    view.setUint32(place, word.length, true);
    content.set(word, place + 8);
    place += word.length + 8;
  }
  must(
    lines.length === k && (await sha256(content)) === digest,
    "The list of words does not match this survey.",
  );
  return lines;
}

const word: Typing = {
  prepare(one, field, input, hint) {
    const list = h("datalist", { id: `${input.id}-list` });
    const known = new Set(one.categories);
    input.setAttribute("list", list.id);
    field.say(hint, () => `${field.fill("word")}.`);
    input.addEventListener("input", () => {
      const start = input.value.toLowerCase();
      // A complete word needs no list any more. The list would only cover the rest of the page.
      const fits = start && !known.has(input.value) ? one.categories.filter((word) => word.toLowerCase().startsWith(start)).slice(0, 20) : [];
      list.replaceChildren(...fits.map((word) => h("option", { value: word })));
    });
    input.after(list);
  },
  read: (one, _field, text) => [text, text.trim()].find((word) => one.labels.includes(word)) ?? (one.other === undefined ? undefined : text.trim()),
  fault: (_one, field) => field.fill("noWord"),
  spoken: (_field, answer) => answer,
};
