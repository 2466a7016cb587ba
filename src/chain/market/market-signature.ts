import { recoverAddress } from "viem";
import { type Hex, lowerHex } from "../../kernel/text/hex.ts";

/** Half of the order of secp256k1: of a signature and its mirror image, the lower is the one that counts (EIP-2). */
const HALF_ORDER = 0x7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a0n;

/**
 * Whose signature of a hash it is, in lower case, by the rules of the market: 65 bytes, a low `s`, and 27 or 28 behind.
 * The market asks no contract, so that wallets which are one cannot trade. Undefined for what it would not read.
 */
export async function signerOf(hash: Hex, signature: Hex): Promise<Hex | undefined> {
  const [, r, s, v] = /^0x([0-9a-f]{64})([0-9a-f]{64})(1b|1c)$/i.exec(signature) ?? [];
  if (r === undefined || s === undefined || BigInt(`0x${s}`) > HALF_ORDER) return undefined;
  try {
    const parts = { r: `0x${r}`, s: `0x${s}`, yParity: v?.toLowerCase() === "1c" ? 1 : 0 } as const;
    return lowerHex(await recoverAddress({ hash, signature: parts }));
  } catch {
    return undefined;
  }
}
