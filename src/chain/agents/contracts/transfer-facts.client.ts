import type { PublicClient } from "viem";
import { type Hex, lowerHex } from "../../../kernel/text/hex.ts";
import { agentNftAbi } from "../../abi/agent-nft.ts";
import { agentVerifierAbi, teeVerifierAbi } from "../../abi/agent-verifier.ts";
import { refusalName } from "../../rpc/contract-error.ts";
import { refusedWith } from "../../rpc/refused-with.ts";
import {
  type Move,
  ORACLE_TYPES,
  PROOF_USED,
  type TransferFacts,
  type TransferProof,
  toProofArguments,
} from "./transfer-proof.ts";

/** A token by its contract and its id. */
type Token = { readonly address: Hex; readonly tokenId: bigint };

/**
 * Reads from the chain what explains the refusal of a transfer. Throws what viem throws, but for the verifier: without
 * its answers an explanation is less exact.
 */
export async function readTransferFacts(
  client: PublicClient,
  { address, tokenId }: Token,
  { to, proofs }: Pick<Move, "to" | "proofs">,
  refusal: string,
): Promise<TransferFacts> {
  const nft = { address, abi: agentNftAbi } as const;
  const [owner, datas, delegate, verifier] = await Promise.all([
    client.readContract({ ...nft, functionName: "ownerOf", args: [tokenId] }),
    client.readContract({ ...nft, functionName: "intelligentDatasOf", args: [tokenId] }),
    client.readContract({ ...nft, functionName: "getDelegateAccess", args: [to] }),
    client.readContract({ ...nft, functionName: "verifier" }),
  ]);
  const [oracle, usedProof] = await Promise.all([
    oracleOf(client, verifier).catch(() => undefined),
    refusalName(refusal) === PROOF_USED
      ? usedProofOf(client, { token: address, verifier }, proofs).catch(() => undefined)
      : undefined,
  ]);
  return {
    owner: lowerHex(owner),
    dataHashes: datas.map(({ dataHash }) => lowerHex(dataHash)),
    delegate: lowerHex(delegate),
    oracle,
    usedProof,
  };
}

/** The oracle whose signatures a verifier accepts. */
async function oracleOf(client: PublicClient, verifier: Hex): Promise<Hex> {
  const tee = await client.readContract({
    address: verifier,
    abi: agentVerifierAbi,
    functionName: "attestationContract",
    args: [ORACLE_TYPES.indexOf("tee")],
  });
  const call = { address: tee, abi: teeVerifierAbi, functionName: "teeOracleAddress" } as const;
  return lowerHex(await client.readContract(call));
}

/**
 * The index of the first proof whose nonce was used: by bisection, since the verifier has no function that reads nonces.
 * They are those of the calling token contract.
 */
async function usedProofOf(
  client: PublicClient,
  { token, verifier }: { readonly token: Hex; readonly verifier: Hex },
  proofs: readonly TransferProof[],
): Promise<number | undefined> {
  const isRefused = (length: number) =>
    client
      .simulateContract({
        address: verifier,
        abi: agentVerifierAbi,
        functionName: "verifyTransferValidity",
        args: [toProofArguments(proofs.slice(0, length))],
        account: token,
      })
      .then(
        () => false,
        (cause: unknown) => {
          if (refusedWith(cause, PROOF_USED)) return true;
          throw cause;
        },
      );
  let [valid, refused] = [0, proofs.length];
  if (!(await isRefused(refused))) return undefined;
  while (refused - valid > 1) {
    const middle = (valid + refused) >> 1;
    if (await isRefused(middle)) refused = middle;
    else valid = middle;
  }
  return refused - 1;
}
