import { randomBytes } from "node:crypto";
import {
  concatHex,
  encodePacked,
  keccak256,
  type LocalAccount,
  parseEventLogs,
  type TransactionReceipt,
  toHex,
} from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { agentNftAbi } from "../../../src/chain/abi/agent-nft.ts";
import { DEMO_USER, ORACLE } from "../../../src/devnet/chain/accounts.ts";
import { connectDevnet } from "../../../src/devnet/chain/chain-client.ts";
import { contractAddresses } from "../../../src/devnet/chain/deploy.ts";
import type { Hex } from "../../../src/kernel/text/hex.ts";
import { receiptOf } from "./receipt-of.ts";

/** The fields of one piece of a token's data. */
export type AgentData = { readonly dataDescription: string; readonly dataHash: Hex };

/** Both proofs for one piece of data, as `iTransferFrom` takes them. */
export type Proof = {
  readonly accessProof: {
    readonly dataHash: Hex;
    readonly targetPubkey: Hex;
    readonly nonce: Hex;
    readonly proof: Hex;
  };
  readonly ownershipProof: {
    readonly oracleType: number;
    readonly dataHash: Hex;
    readonly sealedKey: Hex;
    readonly targetPubkey: Hex;
    readonly nonce: Hex;
    readonly proof: Hex;
  };
};

/** How proofs are made; the defaults are a correct oracle and a receiver without a chosen key. */
export type ProofOptions = {
  /** The receiver, which signs the access proofs unless `signer` does. */
  readonly to: LocalAccount;
  readonly signer?: LocalAccount;
  readonly oracleKey?: Hex;
  readonly oracleType?: number;
  /** The key for which the receiver wants the data's key sealed; by default its own, which is left out. */
  readonly wantedKey?: Hex;
  /** The key that the oracle sealed for: 64 bytes. */
  readonly targetPubkey?: Hex;
  readonly sealedKeys?: readonly Hex[];
  readonly accessNonce?: Hex;
  readonly ownershipNonce?: Hex;
  /** The data that the oracle attests, where that is not the token's. */
  readonly ownershipDataHash?: Hex;
};

const NFT = () => ({ address: contractAddresses().agentNft, abi: agentNftAbi }) as const;

/** A piece of data that no other token has. */
export function newData(dataDescription = "an agent"): AgentData {
  return { dataDescription, dataHash: randomHex(32) };
}

/** Fresh random bytes. */
export function randomHex(size: number): Hex {
  return toHex(randomBytes(size));
}

/** The 64 bytes of an account's public key, without the 0x04 before them. */
export function publicKeyOf(account: LocalAccount): Hex {
  return `0x${account.publicKey.slice(4)}`;
}

/** Mints a token with this data to `to`; resolves with its id and the hash of its transaction. */
export async function mintAgent(
  rpcUrl: string,
  {
    to,
    data = [newData()],
    byKey = DEMO_USER.privateKey,
  }: { to: Hex; data?: readonly AgentData[]; byKey?: Hex },
): Promise<{ readonly tokenId: bigint; readonly data: readonly AgentData[]; readonly hash: Hex }> {
  const receipt = await writeAgent(rpcUrl, byKey, "mint", [data, to]);
  const [minted] = parseEventLogs({ abi: agentNftAbi, logs: receipt.logs, eventName: "Transfer" });
  if (!minted) throw new Error("nothing was minted");
  return { tokenId: minted.args.tokenId, data, hash: receipt.transactionHash };
}

/** Proofs that `iTransferFrom` and `iCloneFrom` accept: one for each piece of data, in its order. */
export function agentProofs(data: readonly AgentData[], options: ProofOptions): Promise<Proof[]> {
  return Promise.all(data.map(({ dataHash }, index) => agentProof(dataHash, index, options)));
}

/** Moves a token with its keys; `byKey` is the key of the owner or of an approved account. */
export function iTransfer(
  rpcUrl: string,
  move: { byKey: Hex; from: Hex; to: Hex; tokenId: bigint; proofs: readonly Proof[] },
): Promise<TransactionReceipt> {
  return writeAgent(rpcUrl, move.byKey, "iTransferFrom", [move.from, move.to, move.tokenId, move.proofs]);
}

/** Clones a token; resolves with the id of the clone. */
export async function iClone(
  rpcUrl: string,
  move: { byKey: Hex; from: Hex; to: Hex; tokenId: bigint; proofs: readonly Proof[] },
): Promise<{ readonly tokenId: bigint; readonly receipt: TransactionReceipt }> {
  const args = [move.from, move.to, move.tokenId, move.proofs];
  const receipt = await writeAgent(rpcUrl, move.byKey, "iCloneFrom", args);
  const [cloned] = parseEventLogs({ abi: agentNftAbi, logs: receipt.logs, eventName: "Cloned" });
  if (!cloned) throw new Error("nothing was cloned");
  return { tokenId: cloned.args._newTokenId, receipt };
}

type Write =
  | "mint"
  | "iTransferFrom"
  | "iCloneFrom"
  | "transferFrom"
  | "approve"
  | "setApprovalForAll"
  | "authorizeUsage"
  | "batchAuthorizeUsage"
  | "revokeAuthorization"
  | "clearAuthorizedUsers"
  | "delegateAccess"
  | "update"
  | "setCreator"
  | "setMintFee"
  | "setTokenURI"
  | "updateVerifier"
  | "mintWithRole"
  | "pause"
  | "unpause";

/**
 * Calls a function of the devnet's AgentNFT and waits for its block. Throws the contract's refusal by its
 * name.
 */
export async function writeAgent(
  rpcUrl: string,
  byKey: Hex,
  functionName: Write,
  args: readonly unknown[],
  value = 0n,
): Promise<TransactionReceipt> {
  const client = await connectDevnet(rpcUrl, byKey);
  // TypeScript cannot resolve the overloads of so many functions; the ABI checks the arguments when they are
  // encoded.
  const call = { ...NFT(), functionName, args, value } as unknown as Parameters<
    typeof client.writeContract
  >[0];
  return receiptOf(client, { hash: await client.writeContract(call), rpcUrl });
}

async function agentProof(dataHash: Hex, index: number, options: ProofOptions): Promise<Proof> {
  const { to, signer = to, wantedKey = "0x", targetPubkey = publicKeyOf(to), oracleType = 0 } = options;
  const oracle = privateKeyToAccount(options.oracleKey ?? ORACLE.privateKey);
  const accessNonce = options.accessNonce ?? randomHex(16);
  const ownershipNonce = options.ownershipNonce ?? randomHex(16);
  const sealedKey = options.sealedKeys?.[index] ?? concatHex(["0x04", randomHex(64)]);
  const owned = options.ownershipDataHash ?? dataHash;
  const access = keccak256(encodePacked(["bytes32", "bytes", "bytes"], [dataHash, wantedKey, accessNonce]));
  const ownership = keccak256(
    encodePacked(["bytes32", "bytes", "bytes", "bytes"], [owned, sealedKey, targetPubkey, ownershipNonce]),
  );
  return {
    accessProof: {
      dataHash,
      targetPubkey: wantedKey,
      nonce: accessNonce,
      proof: await signText(signer, access),
    },
    ownershipProof: {
      oracleType,
      dataHash: owned,
      sealedKey,
      targetPubkey,
      nonce: ownershipNonce,
      proof: await signText(oracle, ownership),
    },
  };
}

/** `personal_sign` of the hash as text, not of its bytes, as in the contract. */
async function signText(signer: LocalAccount, hash: Hex): Promise<Hex> {
  return signer.signMessage({ message: hash });
}
