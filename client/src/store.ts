// What this device keeps: reports, never answers. One response for a collection, drawn once; the ledger is all of them.

import { must, parseDecimal, plus, toNumber, type Fraction } from "./exact.js";

/** A report that was drawn, and what became of it. */
export interface Kept {
  readonly collection: string;
  /** Who answered on this device: 1, and 2 on for further people where the survey lets them. */
  readonly person: number;
  /** Empty when the person has left. */
  readonly title: string;
  /** The whole budget, as the survey declares it. */
  readonly epsilon: string;
  /** The bytes that are sent, the same at every try; deleted as soon as they are counted, or the person leaves. */
  readonly body: string;
  /** Hash of the survey document that was shown; empty when the person has left. */
  readonly page: string;
  readonly state: "drawn" | "counted" | "stopped" | "left";
  /** What this device knows the invitation by that it was drawn for; none in open access, or when the person has left. */
  readonly invitation?: string;
  /** Why it was stopped: the problem's name. */
  readonly problem?: string;
}

const NAME = "responses";

/** Run one transaction on the device's database; `act` may make further requests when the one that it returns is done. */
async function transaction<T>(mode: IDBTransactionMode, act: (store: IDBObjectStore) => IDBRequest<T>): Promise<T> {
  const database = await new Promise<IDBDatabase>((resolve, reject) => {
    const opening = indexedDB.open("deniable", 2);
    opening.onupgradeneeded = () => {
      // The first version, which was never released, had one person for each collection.
      if (opening.result.objectStoreNames.contains(NAME)) opening.result.deleteObjectStore(NAME);
      opening.result.createObjectStore(NAME, { keyPath: ["collection", "person"] });
    };
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

/** What this device has now of a person's response. */
export const found = ({ collection, person }: Kept): Promise<Kept | undefined> =>
  transaction("readonly", (store) => store.get([collection, person]) as IDBRequest<Kept | undefined>);

/** What this device has of a collection: of the last person in open access, else of an invitation by its mark. */
export const kept = async (collection: string, mark?: string): Promise<Kept | undefined> =>
  (await ledger()).filter((one) => one.collection === collection && (!mark || one.invitation === mark)).pop();

/** The number of the next person who answers a collection on this device. */
export const nextPerson = async (collection: string): Promise<number> => ((await kept(collection))?.person ?? 0) + 1;

export const ledger = (): Promise<Kept[]> => transaction("readonly", (store) => store.getAll() as IDBRequest<Kept[]>);

/** Keep a response if its person has none for its collection; return the one that counts, which is the first. */
export async function keep(response: Kept): Promise<Kept> {
  try {
    await transaction("readwrite", (store) => store.add(response));
    return response;
  } catch (error) {
    const first = await found(response);
    if (first) return first;
    throw error;
  }
}

/**
 * Note what became of a response, unless its person has left; whether it was noted. If it was counted, its bytes are
 * deleted: nobody sends them again. It looks and writes in one transaction, so no other tab can leave in between.
 */
export async function note(response: Kept): Promise<boolean> {
  let noted = false;
  await transaction("readwrite", (store) => {
    const first = store.get([response.collection, response.person]) as IDBRequest<Kept | undefined>;
    first.onsuccess = () => {
      noted = first.result?.state !== "left";
      if (noted) store.put(response.state === "counted" ? { ...response, body: "" } : response);
    };
    return first;
  });
  return noted;
}

/** Forget everything about a response but what keeps its person from a second draw. */
export const leave = ({ collection, person, epsilon }: Kept): Promise<unknown> =>
  transaction("readwrite", (store) => store.put({ collection, person, title: "", epsilon, body: "", page: "", state: "left" } satisfies Kept));

// ---------------------------------------------------------------- the ledger as a file

const FORMAT = "deniable device ledger";

export const exported = (entries: readonly Kept[]): string =>
  `${JSON.stringify({ format: FORMAT, format_version: 1, responses: entries }, null, 2)}\n`;

/** The responses of a file that `exported` made; throws if it is another. */
export function imported(text: string): Kept[] {
  const data = JSON.parse(text) as { format?: unknown; format_version?: unknown; responses?: Kept[] };
  must(data.format === FORMAT && data.format_version === 1 && Array.isArray(data.responses), "");
  return data.responses.map(({ collection, person = 1, title, epsilon, body, page, state, invitation }) => {
    must(/^[0-9a-f]{64}$/.test(collection) && person >= 1 && person % 1 === 0 && parseDecimal(epsilon), "");
    must([title, body, page].every((one) => typeof one === "string"), "");
    const unsent = state === "drawn" || state === "stopped";
    must(unsent ? JSON.parse(body).collection === collection : state === "counted" || state === "left", "");
    must(invitation === undefined || /^[0-9a-f]{16}$/.test(invitation), "");
    return { collection, person, title, epsilon, body: unsent ? body : "", page, state, ...(invitation && { invitation }) };
  });
}

/** The sum of the budgets that the first person of this device has spent; nobody knows which others are the same. */
export const total = (entries: readonly Kept[]): number =>
  toNumber(entries.filter((one) => one.person === 1).map((one) => parseDecimal(one.epsilon) ?? ([0n, 1n] as Fraction)).reduce(plus, [0n, 1n]));
