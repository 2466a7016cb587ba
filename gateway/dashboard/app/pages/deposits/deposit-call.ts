import { keccak_256 } from "@noble/hashes/sha3.js";

/** The call data of `depositFor(address)` of the development network's vault. */
export function depositCall(account: string): string {
  const selector = keccak_256(new TextEncoder().encode("depositFor(address)")).subarray(0, 4);
  const hex = [...selector].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  return `0x${hex}${account.slice(2).toLowerCase().padStart(64, "0")}`;
}
