import { randomBytes } from "node:crypto";
import { setImmediate as nextTurn } from "node:timers/promises";
import { concat, keccak256, toHex } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { accessProofText, type TransferProof } from "../../chain/agents/contracts/transfer-proof.ts";
import { AppError } from "../../kernel/errors.ts";
import { type Hex, lowerHex } from "../../kernel/text/hex.ts";
import { DEMO_USER, type DevAccount, ORACLE, TOKEN_RECEIVER } from "./accounts.ts";

/** The accounts that the development network can receive agent tokens for, since their keys are public. */
export const RECEIVERS: readonly DevAccount[] = [DEMO_USER, TOKEN_RECEIVER];

/** The most pieces of data to prove at once: each needs two signatures. */
const MAX_DATAS = 100;
const NONCE_BYTES = 32;
/** `TransferProof` has a key without its first byte, which says that both coordinates follow. */
const KEY_START = 4;

/**
 * Both proofs for each piece of a token's data, in order: the receiver signs that it wants the data, and the stand-in
 * oracle that the key is sealed for it. What it seals is random bytes: nothing is encrypted on a development network.
 * `seed` makes nonces and keys the same each time. Throws `invalid_parameter` for a receiver whose key is not public, and
 * the reason of `signal` when it aborts.
 */
export async function proveTransfer(
  to: string,
  dataHashes: readonly string[],
  { seed, signal }: { readonly seed?: string; readonly signal?: AbortSignal } = {},
): Promise<readonly TransferProof[]> {
  const receiver = RECEIVERS.find(({ address }) => lowerHex(address) === lowerHex(to));
  if (!receiver) {
    const known = RECEIVERS.map(({ address }) => address).join(" and ");
    const message = `The development network makes proofs for its own accounts only: ${known}.`;
    throw new AppError("invalid_parameter", message, { param: "to" });
  }
  if (dataHashes.length > MAX_DATAS)
    throw new AppError("invalid_parameter", `At most ${MAX_DATAS} pieces of data can be proven.`, {
      param: "dataHashes",
    });
  const proofs: TransferProof[] = [];
  for (const [index, dataHash] of dataHashes.entries()) {
    const bytes = (what: string) =>
      seed === undefined ? toHex(randomBytes(NONCE_BYTES)) : keccak256(toHex(`${seed} ${index} ${what}`));
    proofs.push(await prove(receiver, lowerHex(dataHash), bytes));
    // Signatures take milliseconds each.
    await nextTurn(undefined, signal && { signal });
  }
  return proofs;
}

async function prove(
  receiver: DevAccount,
  dataHash: Hex,
  bytes: (what: string) => Hex,
): Promise<TransferProof> {
  const [owner, oracle] = [privateKeyToAccount(receiver.privateKey), privateKeyToAccount(ORACLE.privateKey)];
  const access = { dataHash, targetPubkey: "0x", nonce: bytes("access nonce") } as const;
  const targetPubkey: Hex = `0x${owner.publicKey.slice(KEY_START)}`;
  const sealedKey = concat(["0x04", bytes("sealed key"), bytes("its tag")]);
  const nonce = bytes("ownership nonce");
  const sealed = keccak256(concat([dataHash, sealedKey, targetPubkey, nonce]));
  const [accessSignature, ownershipSignature] = await Promise.all([
    owner.signMessage({ message: accessProofText(access) }),
    oracle.signMessage({ message: sealed }),
  ]);
  return {
    accessProof: { ...access, proof: accessSignature },
    ownershipProof: {
      oracleType: "tee",
      dataHash,
      sealedKey,
      targetPubkey,
      nonce,
      proof: ownershipSignature,
    },
  };
}
