// Invitations: how a link's token becomes an id, and what a collector says about it before anything is drawn.

import { base64, fromBase64 } from "./bytes.js";
import { sha256 } from "./json.js";
import { receipt } from "./send.js";

/** An invitation, as its device needs it. */
export interface Invitation {
  /** The id that its report is sent with. */
  readonly id: string;
  /** The name that this device gives it, from which nobody finds the id. */
  readonly mark: string;
}

const bytes = (hex: string): Uint8Array => Uint8Array.from(hex.match(/../g)!, (pair) => parseInt(pair, 16));

/**
 * The invitation of a link's token to a collection. The id is the first 16 bytes of SHA-256("deniable nullifier" || collection
 * || token): it does not depend on any answer, and the collector never sees the token.
 */
export async function invitation(collection: string, token: string): Promise<Invitation> {
  const start = new TextEncoder().encode("deniable nullifier");
  const id = base64(bytes(await sha256(Uint8Array.from([...start, ...bytes(collection), ...fromBase64(token)]))).subarray(0, 16));
  return { id, mark: (await sha256(`deniable mark ${id}`)).slice(0, 16) };
}

/** The collector's statement about an invitation; undefined if the collector says nothing. */
export const known = (url: string, { id }: Invitation): ReturnType<typeof receipt> => receipt(url, id);
