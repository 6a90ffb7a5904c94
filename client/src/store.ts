// This device keeps reports, never answers. It keeps one response for a collection, which is drawn once, and what each draw has
// spent. For a survey that asks again and again, it keeps permanent responses for all answers.

import type { MemoBudget } from "./records.js";

/** A report that was drawn, and its outcome. */
export interface Kept {
  readonly collection: string;
  /** The person who answered on this device: 1, and 2, 3, ... for further people if the survey lets them answer. */
  readonly person: number;
  /** Empty when the person has left. */
  readonly title: string;
  /** The whole budget, as the survey declares it. */
  readonly epsilon: string;
  /** The bytes that are sent, the same at every try. They are deleted as soon as the report is counted or the person leaves. */
  readonly body: string;
  /** The leaf by which the report is found among the counted reports; none when the person has left. */
  readonly leaf?: string;
  /** Hash of the survey document that was shown; empty when the person has left. */
  readonly page: string;
  readonly state: "drawn" | "counted" | "stopped" | "left";
  /** The name that this device gives to the report's invitation; none in open access, or when the person has left. */
  readonly invitation?: string;
  /** The name of the problem that stopped the report. */
  readonly problem?: string;
}

/** One draw of one person, as the library's ledger has it. Nothing in it depends on an answer. */
export interface Draw {
  /** Random name of 32 hexadecimal digits, which no report carries. */
  readonly draw: string;
  readonly collection: string;
  /** The amount that the draw spends alone; "" without a bound. */
  readonly epsilon: string;
  readonly person: number;
  /** The permanent responses from which the report was made. */
  readonly memo?: MemoBudget & { readonly id: string };
}

/** Permanent responses of one person for one series of waves: a row for every answer, or every cell of a hash function. */
export interface Memo {
  readonly series: string;
  readonly person: number;
  readonly id: string;
  readonly rows: readonly string[];
}

/** A person's responses and draws on this device, and the most that they want to spend. */
export interface Account {
  readonly responses: readonly Kept[];
  readonly draws: readonly Draw[];
  readonly limit: string | undefined;
}

const STORES = { responses: ["collection", "person"], spending: "draw", memos: ["series", "person"], settings: "name" } as const;
type Name = keyof typeof STORES;
type Stores = (name: Name) => IDBObjectStore;

/** Run one transaction on the device's database. `act` may make further requests when the request that it returns is done. */
async function transaction<T>(mode: IDBTransactionMode, act: (stores: Stores) => IDBRequest<T>, ...names: Name[]): Promise<T> {
  const database = await new Promise<IDBDatabase>((resolve, reject) => {
    const opening = indexedDB.open("deniable", 3);
    opening.onupgradeneeded = ({ oldVersion }) => {
      // The first version, which was never released, had one person for each collection.
      if (oldVersion === 1) opening.result.deleteObjectStore("responses");
      for (const [name, keyPath] of Object.entries(STORES))
        if (!opening.result.objectStoreNames.contains(name)) opening.result.createObjectStore(name, { keyPath: keyPath as string | string[] });
    };
    opening.onerror = opening.onblocked = () => reject(opening.error);
    opening.onsuccess = () => resolve(opening.result);
  });
  // A page of a later version in another tab need not wait for this page.
  database.onversionchange = () => database.close();
  try {
    return await new Promise((resolve, reject) => {
      const work = database.transaction(names, mode, { durability: "strict" });
      const request = act((name) => work.objectStore(name));
      work.oncomplete = () => resolve(request.result);
      work.onabort = () => reject(work.error);
    });
  } finally {
    database.close();
  }
}

/** The state that this device has now of a person's response. */
export const found = ({ collection, person }: Kept): Promise<Kept | undefined> =>
  transaction("readonly", (stores) => stores("responses").get([collection, person]) as IDBRequest<Kept | undefined>, "responses");

/**
 * The response that this device has for a collection: that of the last person in open access, or that of an invitation by its
 * mark.
 */
export const kept = async (collection: string, mark?: string): Promise<Kept | undefined> =>
  (await ledger()).filter((one) => one.collection === collection && (!mark || one.invitation === mark)).pop();

/** The number of the next person who answers a collection on this device. */
export const nextPerson = async (collection: string): Promise<number> => ((await kept(collection))?.person ?? 0) + 1;

export const ledger = (): Promise<Kept[]> => transaction("readonly", (stores) => stores("responses").getAll() as IDBRequest<Kept[]>, "responses");

/** Read the account inside a transaction, and go on with it. */
function reading(stores: Stores, then: (account: Account) => void): IDBRequest {
  const [responses, draws, limit] = [stores("responses").getAll(), stores("spending").getAll(), stores("settings").get("limit")];
  // The requests of one transaction are done in their order, so the last one comes after all others.
  limit.onsuccess = () => then({ responses: responses.result as Kept[], draws: draws.result as Draw[], limit: (limit.result as { value: string } | undefined)?.value });
  return limit;
}

/** The responses and draws of this device, and the limit that its person has set. */
export async function account(): Promise<Account> {
  let result: Account | undefined;
  await transaction("readonly", (stores) => reading(stores, (all) => (result = all)), "responses", "spending", "settings");
  return result!;
}

/** Set the limit, or forget it. */
export const setLimit = (value: string): Promise<unknown> =>
  transaction("readwrite", (stores) => (value ? stores("settings").put({ name: "limit", value }) : stores("settings").delete("limit")) as IDBRequest<unknown>, "settings");

/**
 * Keep a response with its draw if its person has none for its collection; return the response that counts, which is the first.
 * The total is read and written in one transaction, so that two tabs cannot overspend together. If `allowed` does not say that
 * the person's limit leaves room, nothing is kept and the result is undefined.
 */
export async function keep(response: Kept, draw?: Draw, allowed?: (account: Account, draw: Draw) => boolean): Promise<Kept | undefined> {
  let [counts, fault]: [Kept | undefined, unknown] = [undefined, undefined];
  const write = (stores: Stores): void => {
    try {
      stores("responses").add(response);
      if (draw) stores("spending").add(draw);
    } catch (error) {
      // The error is kept, because the transaction would only say that it was aborted.
      fault = error;
      stores("responses").transaction.abort();
    }
  };
  await transaction(
    "readwrite",
    (stores) =>
      reading(stores, (all) => {
        counts = all.responses.find((one) => one.collection === response.collection && one.person === response.person);
        if (counts || (draw && draw.person === 1 && all.limit && !allowed?.(all, draw))) return;
        counts = response;
        write(stores);
      }),
    "responses",
    "spending",
    "settings",
  ).catch((error: unknown) => {
    throw fault ?? error;
  });
  return counts;
}

/** Add the draws of another list of the same person. A draw that is already here counts once, and nothing is removed. */
export const addDraws = (draws: readonly Draw[]): Promise<unknown> =>
  transaction(
    "readwrite",
    (stores) => {
      for (const one of draws) stores("spending").put(one);
      return stores("spending").count();
    },
    "spending",
  );

/** The permanent responses of a person for a series: those that any tab stored first, or else the given ones. */
export async function memo(fresh: Memo): Promise<Memo> {
  let first: Memo | undefined;
  await transaction(
    "readwrite",
    (stores) => {
      const request = stores("memos").get([fresh.series, fresh.person]) as IDBRequest<Memo | undefined>;
      request.onsuccess = () => {
        first = request.result;
        if (!first) stores("memos").add((first = fresh));
      };
      return request;
    },
    "memos",
  );
  return first!;
}

/**
 * Note the outcome of a response, unless its person has left, and return whether it was noted. The bytes of a counted response
 * are deleted, because nobody sends them again. One transaction reads and writes, so no other tab can leave in between.
 */
export async function note(response: Kept): Promise<boolean> {
  let noted = false;
  await transaction(
    "readwrite",
    (stores) => {
      const store = stores("responses");
      const first = store.get([response.collection, response.person]) as IDBRequest<Kept | undefined>;
      first.onsuccess = () => {
        noted = first.result?.state !== "left";
        if (noted) store.put(response.state === "counted" ? { ...response, body: "" } : response);
      };
      return first;
    },
    "responses",
  );
  return noted;
}

/** Forget everything about a response, except for the entry that keeps its person from a second draw. */
export const leave = ({ collection, person, epsilon }: Kept): Promise<unknown> =>
  transaction(
    "readwrite",
    (stores) => stores("responses").put({ collection, person, title: "", epsilon, body: "", page: "", state: "left" } satisfies Kept),
    "responses",
  );
