// Integers and arrays as the bytes of a report.

/** Bytes that hold codes below k. */
export const codeBytes = (k: bigint): number => (k <= 256n ? 1 : k <= 65536n ? 2 : 4);

/** An integer in little-endian bytes. */
export function toBytes(value: bigint, width: number): Uint8Array {
  const bytes = new Uint8Array(width);
  for (let i = 0; i < width; i++) bytes[i] = Number((value >> BigInt(8 * i)) & 255n);
  return bytes;
}

export function fromBytes(bytes: Uint8Array): bigint {
  return bytes.reduceRight((value, byte) => (value << 8n) | BigInt(byte), 0n);
}

/** Several arrays of bytes, one after the other, and zeros up to a width. */
export function joined(parts: readonly Uint8Array[], width?: number): Uint8Array {
  const result = new Uint8Array(width ?? parts.reduce((sum, part) => sum + part.length, 0));
  let place = 0;
  for (const part of parts) {
    result.set(part, place);
    place += part.length;
  }
  return result;
}

/** Bytes as a text that is allowed in JSON and in addresses. */
export const base64 = (bytes: Uint8Array): string =>
  btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join("")).replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, "");

export const fromBase64 = (text: string): Uint8Array =>
  Uint8Array.from(atob(text.replace(/-/g, "+").replace(/_/g, "/")), (one) => one.charCodeAt(0));
