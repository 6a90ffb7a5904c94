// Sending: the same bytes are sent until the collector acknowledges them.

import type { Kept } from "./store.js";

/** A function that is told what a try to send waits for, and how many milliseconds pass until the next try. */
export type Progress = (waiting: "sending" | "offline" | "busy", milliseconds: number) => void;

/** An event here makes the next try come at once. */
export const hurry = new EventTarget();

const LONGEST_DELAY = 3000;
const FIRST_BACKOFF = 500;
const LONGEST_BACKOFF = 60_000;

/** Uniform on [0, most), from the cryptographic generator, so the time of sending tells nothing about the answer. */
const uniform = (most: number): number => (crypto.getRandomValues(new Uint32Array(1))[0]! / 2 ** 32) * most;

/** Wait. The wait ends early if the device comes online again, or if its person asks for it. */
function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      clearTimeout(timer);
      removeEventListener("online", done);
      hurry.removeEventListener("now", done);
      resolve();
    };
    const timer = setTimeout(done, milliseconds);
    addEventListener("online", done);
    hurry.addEventListener("now", done);
  });
}

/** The name of a problem, which is shown in a sentence. Nothing else that a collector writes there is shown. */
const problemName = (type: unknown): string => /^urn:deniable:problem:([a-z]+(?:-[a-z]+){0,2})$/.exec(String(type))?.[1]?.slice(0, 24) ?? "?";

const post = (url: string, body: string): Promise<Response> =>
  fetch(url, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body,
    credentials: "omit",
    cache: "no-store",
    referrerPolicy: "no-referrer",
  });

/** What a collector knows about a nullifier: counted, not counted, or not invited; undefined if the collector does not say. */
export async function receipt(collection: string, id: string): Promise<"counted" | "new" | "uninvited" | undefined> {
  try {
    const { status } = await post(`${collection}/receipts`, JSON.stringify({ id }));
    return ({ 204: "counted", 404: "new", 403: "uninvited" } as const)[status as 204];
  } catch {
    return undefined;
  }
}

/**
 * Send a kept response until it is acknowledged, or refused for good, and return the outcome. Before every try `wanted` says
 * whether the response is still to be sent. If not, the result is undefined.
 */
export async function deliver(collection: string, response: Kept, wanted: () => Promise<boolean>, progress: Progress): Promise<Kept | undefined> {
  progress("sending", 0);
  await new Promise((resolve) => setTimeout(resolve, uniform(LONGEST_DELAY)));
  for (let backoff = FIRST_BACKOFF; ; backoff = Math.min(2 * backoff, LONGEST_BACKOFF)) {
    if (!(await wanted())) return undefined;
    let [least, waiting]: [number, "busy" | "offline"] = [0, "offline"];
    try {
      const answer = await post(`${collection}/reports`, response.body);
      const said = (await answer.json().catch(() => ({}))) as { type?: unknown; counted?: number; already?: number };
      // The collector's own numbers are needed, because a network's login page also answers that all is well.
      if (answer.ok && said.counted! + said.already! === 1) return { ...response, state: "counted" };
      if (!answer.ok && answer.status < 500 && ![408, 425, 429].includes(answer.status)) {
        // The report may have been counted by a try whose answer was lost.
        const { reports } = JSON.parse(response.body) as { reports: [{ id: string }] };
        const known = await receipt(collection, reports[0].id);
        if (known === "counted") return { ...response, state: "counted" };
        // If the collector does not say, the loop sends and asks again.
        if (known) return { ...response, state: "stopped", problem: problemName(said.type) };
      }
      // The wait is an hour at most, because a timer of a month would end at once.
      least = Math.min(1000 * Number(answer.headers.get("Retry-After")) || 0, 36e5);
      waiting = "busy";
    } catch {
      if (navigator.onLine) waiting = "busy";
    }
    const milliseconds = Math.max(least, uniform(backoff));
    progress(waiting, milliseconds);
    await pause(milliseconds);
  }
}
