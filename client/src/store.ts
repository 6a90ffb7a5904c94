// What this device keeps: reports, never answers. One response for a collection, drawn once; the ledger is all of them.

import { must, parseDecimal, plus, toNumber, type Fraction } from "./exact.js";

/** A report that was drawn, and what became of it. */
export interface Kept {
  readonly collection: string;
  readonly title: string;
  /** The whole budget, as the survey declares it. */
  readonly epsilon: string;
  /** The bytes that are sent, the same at every try. */
  readonly body: string;
  /** SHA-256 of the survey document that was shown. */
  readonly page: string;
  readonly state: "drawn" | "counted" | "stopped";
  /** Why it was stopped: the problem's name. */
  readonly problem?: string;
}

const NAME = "responses";

/** Run one transaction on the device's database. */
async function transaction<T>(mode: IDBTransactionMode, act: (store: IDBObjectStore) => IDBRequest<T>): Promise<T> {
  const database = await new Promise<IDBDatabase>((resolve, reject) => {
    const opening = indexedDB.open("deniable", 1);
    opening.onupgradeneeded = () => opening.result.createObjectStore(NAME, { keyPath: "collection" });
    opening.onerror = () => reject(opening.error);
    opening.onsuccess = () => resolve(opening.result);
  });
  try {
    return await new Promise((resolve, reject) => {
      const work = database.transaction(NAME, mode, { durability: "strict" });
      const request = act(work.objectStore(NAME));
      work.oncomplete = () => resolve(request.result);
      work.onabort = () => reject(work.error);
    });
  } finally {
    database.close();
  }
}

export const kept = (collection: string): Promise<Kept | undefined> =>
  transaction("readonly", (store) => store.get(collection) as IDBRequest<Kept | undefined>);

export const ledger = (): Promise<Kept[]> => transaction("readonly", (store) => store.getAll() as IDBRequest<Kept[]>);

/** Keep a response if there is none for its collection; return the one that counts, which is the first. */
export async function keep(response: Kept): Promise<Kept> {
  try {
    await transaction("readwrite", (store) => store.add(response));
    return response;
  } catch (error) {
    const first = await kept(response.collection);
    if (first) return first;
    throw error;
  }
}

/** Note what became of a response. */
export const note = (response: Kept): Promise<unknown> => transaction("readwrite", (store) => store.put(response));

// ---------------------------------------------------------------- the ledger as a file

const FORMAT = "deniable device ledger";

export const exported = (entries: readonly Kept[]): string =>
  `${JSON.stringify({ format: FORMAT, format_version: 1, responses: entries }, null, 2)}\n`;

/** The responses of a file that `exported` made; throws if it is another. */
export function imported(text: string): Kept[] {
  const data = JSON.parse(text) as { format?: unknown; format_version?: unknown; responses?: Kept[] };
  must(data.format === FORMAT && data.format_version === 1 && Array.isArray(data.responses), "");
  return data.responses.map(({ collection, title, epsilon, body, page, state }) => {
    must(/^[0-9a-f]{64}$/.test(collection) && parseDecimal(epsilon), "");
    must([title, body, page].every((one) => typeof one === "string"), "");
    must(["drawn", "counted", "stopped"].includes(state) && JSON.parse(body).collection === collection, "");
    return { collection, title, epsilon, body, page, state };
  });
}

/** The sum of all budgets that were spent from this device. */
export const total = (entries: readonly Kept[]): number =>
  toNumber(entries.map((one) => parseDecimal(one.epsilon) ?? ([0n, 1n] as Fraction)).reduce(plus, [0n, 1n]));
