import {
  encodeDeployData,
  encodeFunctionData,
  erc6492SignatureValidatorAbi,
  erc6492SignatureValidatorByteCode,
  hashMessage,
  isErc6492Signature,
  type PublicClient,
  parseAbi,
  recoverAddress,
  toHex,
} from "viem";
import { AppError } from "../kernel/errors.ts";
import { type Hex, lowerHex } from "../kernel/text/hex.ts";
import { chainError } from "./rpc/rpc.client.ts";

/** A message, the address that claims to have signed it, and the signature. */
export type SignedText = { readonly address: Hex; readonly message: string; readonly signature: Hex };

const WALLET = parseAbi(["function isValidSignature(bytes32 hash, bytes signature) view returns (bytes4)"]);
/** The result of `isValidSignature` for a valid signature, as an ABI-encoded word (EIP-1271). */
const MAGIC_VALUE = `0x1626ba7e${"0".repeat(56)}`;
const GAS_CAP = 5_000_000n;
const DEADLINE_MS = 5_000;
/** How long the chain may take to show that it works, when the contract was not in time. */
const WITNESS_MS = 1_000;
const MAX_SIGNATURE_LENGTH = 32_768;
/** Half of the order of secp256k1: of two equivalent signatures only the one with the lower `s` is valid (EIP-2). */
const HALF_ORDER = 0x7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a0n;

/**
 * Whether a wallet signed this message with `personal_sign`. Checks an ordinary wallet by key recovery, else the
 * contract at its address by EIP-1271, deployed or not yet (ERC-6492). The contract call is limited to 5 M gas and 5
 * s; a revert, out of gas, an invalid result or no result in this time means not signed. Throws `chain_error` when the
 * chain does not answer other calls either.
 */
export async function verifyWalletSignature(client: PublicClient, signed: SignedText): Promise<boolean> {
  const hash = hashMessage(signed.message);
  if (await isSignedByKey(hash, signed)) return true;
  if (signed.signature.length > MAX_SIGNATURE_LENGTH) return false;
  const verdict = await within(DEADLINE_MS, isSignedByContract(client, hash, signed));
  if (verdict !== undefined) return verdict;
  if ((await within(WITNESS_MS, readNewestBlock(client))) === undefined)
    throw new AppError(
      "chain_error",
      "The chain's RPC does not answer: the wallet's contract could not be called.",
    );
  return false;
}

/** Accepts 65 bytes: `r`, a low `s`, and a `v` of 0, 1, 27 or 28. A contract may accept other forms. */
async function isSignedByKey(hash: Hex, { address, signature }: SignedText): Promise<boolean> {
  const [, r, s, v] = /^0x([0-9a-f]{64})([0-9a-f]{64})(00|01|1b|1c)$/i.exec(signature) ?? [];
  if (r === undefined || s === undefined || BigInt(`0x${s}`) > HALF_ORDER) return false;
  const yParity = v === "01" || v?.toLowerCase() === "1c" ? 1 : 0;
  try {
    const signer = await recoverAddress({ hash, signature: { r: `0x${r}`, s: `0x${s}`, yParity } });
    return lowerHex(signer) === lowerHex(address);
  } catch {
    return false;
  }
}

async function isSignedByContract(client: PublicClient, hash: Hex, signed: SignedText): Promise<boolean> {
  const { address, signature } = signed;
  const ethCall = (call: { to?: Hex; data: Hex }) =>
    client.request(
      { method: "eth_call", params: [{ ...call, gas: toHex(GAS_CAP) }, "latest"] },
      { retryCount: 0 },
    );
  try {
    if (isErc6492Signature(signature)) {
      const data = encodeDeployData({
        abi: erc6492SignatureValidatorAbi,
        bytecode: erc6492SignatureValidatorByteCode,
        args: [address, hash, signature],
      });
      return (await ethCall({ data })) === "0x01";
    }
    // At an address without code the call succeeds with empty data, which does not match.
    const result = await ethCall({
      to: address,
      data: encodeFunctionData({ abi: WALLET, args: [hash, signature] }),
    });
    return result.startsWith(MAGIC_VALUE);
  } catch (error) {
    if (isRefusedByContract(error)) return false;
    throw chainError("the wallet's contract could not be called", error);
  }
}

/**
 * Whether the node ran the call and the contract failed. Code 3 is a revert, -32000 is out of gas on most nodes,
 * -32003 and -32015 are a revert on some. -32603 may be anything, so its message decides.
 */
function isRefusedByContract(error: unknown): boolean {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    if (!("code" in cause)) continue;
    if ([3, -32000, -32003, -32015].includes(Number(cause.code))) return true;
    if (cause.code === -32603 && /\b(EVM|gas|revert(ed)?|opcode|execution)\b/i.test(cause.message))
      return true;
  }
  return false;
}

async function readNewestBlock(client: PublicClient): Promise<Hex> {
  try {
    return await client.request({ method: "eth_blockNumber" }, { retryCount: 0 });
  } catch (error) {
    throw chainError("the newest block", error);
  }
}

/** The result of `work`, undefined if it takes longer. */
async function within<T>(limitMs: number, work: Promise<T>): Promise<T | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), limitMs);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
    // After the deadline no caller handles a rejection.
    work.catch(() => {});
  }
}
