// This file looks for a leaf among the leaves of all counted reports. All leaves are loaded first, so nobody learns which leaf
// is looked for.

import type { Kept } from "../store.js";
import type { Voice } from "../voice.js";
import type { PageKit } from "./ledger.js";
import sentences from "./sentences.json";

/** A batch as the collector lists it. A batch from before there were leaves has no root. */
interface Batch {
  readonly number: number;
  readonly n: number;
  readonly root: string | null;
}

/**
 * The sentence that says where a leaf is, and its values. "notYet" is for surveys whose batches may still come, "absent" for a
 * leaf that should be there.
 */
type Place = readonly ["inBatch" | "notYet" | "absent", { readonly batch: number; readonly n: number }?];

const WIDTH = 32;
const sha256 = async (bytes: Uint8Array<ArrayBuffer>): Promise<Uint8Array> => new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));

/** A hash of RFC 6962, over a leaf (0) or over the hashes of two nodes (1). */
function hashed(kind: number, parts: readonly Uint8Array[]): Promise<Uint8Array> {
  const bytes = new Uint8Array(1 + WIDTH * parts.length);
  bytes[0] = kind;
  parts.forEach((part, i) => bytes.set(part, 1 + WIDTH * i));
  return sha256(bytes);
}

/** The root over leaves in their order, as `deniable.files.receipts` has it: a node without a neighbour goes up as it is. */
async function rootOf(leaves: readonly Uint8Array[]): Promise<Uint8Array> {
  if (!leaves.length) return sha256(new Uint8Array());
  let level = await Promise.all(leaves.map((leaf) => hashed(0, [leaf])));
  while (level.length > 1) {
    const pairs = Array.from({ length: Math.ceil(level.length / 2) }, (_, i) => level.slice(2 * i, 2 * i + 2));
    level = await Promise.all(pairs.map((pair) => (pair.length > 1 ? hashed(1, pair) : pair[0]!)));
  }
  return level[0]!;
}

const hex = (bytes: Uint8Array): string => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");

async function read(address: string): Promise<Response> {
  const answer = await fetch(address, { credentials: "omit", referrerPolicy: "no-referrer" });
  if (!answer.ok) throw new Error(`${answer.status}`);
  return answer;
}

const bytesOf = (text: string): Uint8Array => Uint8Array.from(atob(text.replace(/-/g, "+").replace(/_/g, "/")), (one) => one.charCodeAt(0));

/**
 * Give a response a leaf, SHA-256 of 16 secret bytes and the report, by which this device finds later that it was counted. The
 * secret is forgotten at once, so the leaf that stays says nothing about the report.
 */
export async function withLeaf(drawn: Kept): Promise<Kept> {
  const report = bytesOf(/"report":"(.*)"/.exec(drawn.body)![1]!);
  const bytes = new Uint8Array(16 + report.length);
  crypto.getRandomValues(bytes.subarray(0, 16));
  bytes.set(report, 16);
  const made = String.fromCharCode(...(await sha256(bytes)));
  for (const one of [bytes, report]) one.fill(0);
  const leaf = btoa(made).replace(/\+/g, "-").replace(/\//g, "_").replace("=", "");
  return { ...drawn, leaf, body: drawn.body.replace("}]", `,"leaf":"${leaf}"}]`) };
}

/** Look for a leaf of 32 bytes, in base64. It rejects if the collector gives no list. */
async function lookUp(collection: string, leaf: string): Promise<Place> {
  const listed = ((await (await read(`${collection}/batches`)).json()) as { batches: Batch[] }).batches.filter((one) => one.root);
  const [{ state }, ...contents] = (await Promise.all([
    read(`${collection}/state`).then((answer) => answer.json() as Promise<{ state?: unknown }>),
    ...listed.map(({ number }) => read(`${collection}/batches/${Number(number)}/leaves`).then((answer) => answer.arrayBuffer())),
  ])) as [{ state?: unknown }, ...ArrayBuffer[]];
  const mine = hex(bytesOf(leaf));
  for (const [i, content] of contents.entries()) {
    const leaves = Array.from({ length: content.byteLength / WIDTH }, (_, row) => new Uint8Array(content, row * WIDTH, WIDTH));
    if (!leaves.some((one) => hex(one) === mine)) continue;
    const { number, n, root } = listed[i]!;
    // A list that differs from its stated root or length proves nothing.
    return content.byteLength === n * WIDTH && hex(await rootOf(leaves)) === root ? ["inBatch", { batch: number, n }] : ["absent"];
  }
  return [state === "closed" ? "absent" : "notYet"];
}

/** Put a button into an element. The button looks for a leaf and says beside it where the leaf is. */
export function looker({ h, button }: Pick<PageKit, "h" | "button">, voice: Voice, spot: HTMLElement, url: string, leaf: string, contact: string): void {
  const fill = (key: Place[0] | "look" | "noList", values: Readonly<Record<string, string>> = {}): string => {
    const primary = voice.tag.toLowerCase().split("-")[0] as keyof typeof sentences;
    return (sentences[primary] ?? sentences.en)[key].replace(/\{(\w+)\}/g, (_, name: string) => values[name] ?? "");
  };
  const said = h("p", { role: "status" });
  const look = async (): Promise<void> => {
    const [key, found] = await lookUp(url, leaf).catch(() => ["noList"] as const);
    const number = (value = 0): string => voice.numerals.text(value);
    voice.forget(said);
    voice.say(said, () => fill(key, { contact, batch: number(found?.batch), n: number(found?.n) }));
  };
  spot.append(voice.say(button(look), () => fill("look")), said);
}
