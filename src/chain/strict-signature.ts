import { recoverAddress } from "viem";
import { nextTurn } from "../kernel/async/next-turn.ts";
import { type Hex, lowerHex } from "../kernel/text/hex.ts";

/** Half of the order of secp256k1: of two equivalent signatures only the one with the lower `s` is valid (EIP-2). */
const HALF_ORDER = 0x7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a0n;

/**
 * The signer of a hash, in lower case, by the rules of the market and the verifier of agent tokens: 65 bytes with a low
 * `s` and a `v` of 27 or 28. Neither supports EIP-1271, so contract wallets cannot sign. Undefined for a signature that
 * these contracts reject.
 */
export async function strictSignerOf(hash: Hex, signature: Hex): Promise<Hex | undefined> {
  const [, r, s, v] = /^0x([0-9a-f]{64})([0-9a-f]{64})(1b|1c)$/i.exec(signature) ?? [];
  if (r === undefined || s === undefined || BigInt(`0x${s}`) > HALF_ORDER) return undefined;
  // A recovery takes some milliseconds, and a transfer may have 200 signatures.
  await nextTurn();
  try {
    const parts = { r: `0x${r}`, s: `0x${s}`, yParity: v?.toLowerCase() === "1c" ? 1 : 0 } as const;
    return lowerHex(await recoverAddress({ hash, signature: parts }));
  } catch {
    return undefined;
  }
}
