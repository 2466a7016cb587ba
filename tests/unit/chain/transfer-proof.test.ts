import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import { expect, test } from "vitest";
import { AgentTransactionsService } from "../../../src/chain/agents/contracts/agent-transactions.service.ts";
import {
  explainRefusal,
  type Move,
  type TransferFacts,
  type TransferProof,
} from "../../../src/chain/agents/contracts/transfer-proof.ts";
import type { Hex } from "../../../src/kernel/text/hex.ts";
import { repeatedTurnMs } from "../../support/attack/event-loop.ts";

const LIMIT_MS = 50;
const bytes = (byte: string, count: number): Hex => `0x${byte.repeat(count)}`;

test("the fault in the last of a hundred proofs is found in turns of the event loop", async () => {
  const signature = await privateKeyToAccount(generatePrivateKey()).signMessage({ message: "any" });
  const proofs = Array.from({ length: 100 }, (_, n): TransferProof => {
    const proof = { dataHash: bytes("11", 32), targetPubkey: bytes("22", 64), nonce: bytes("33", 32) };
    return {
      accessProof: { ...proof, proof: signature },
      ownershipProof: {
        ...proof,
        ...{ oracleType: "tee", sealedKey: bytes("44", 100) },
        proof: n === 99 ? bytes("00", 65) : signature,
      },
    };
  });
  const move: Move = { from: bytes("aa", 20), to: bytes("bb", 20), sender: bytes("aa", 20), proofs };
  const facts: TransferFacts = {
    owner: move.from,
    dataHashes: proofs.map(({ accessProof }) => accessProof.dataHash),
    delegate: bytes("00", 20),
    oracle: undefined,
  };
  const turnMs = await repeatedTurnMs(LIMIT_MS, async () => {
    const why = await explainRefusal("ECDSAInvalidSignature()", move, facts);
    expect(why?.param).toBe("proofs.99.ownershipProof.proof");
  });
  expect(turnMs).toBeLessThan(LIMIT_MS);
});

test("the texts of a token with much data are made in turns, for a public key of limited length", async () => {
  const contract = bytes("cc", 20);
  const datas = Array.from({ length: 1_000 }, () => ({ dataDescription: "", dataHash: bytes("11", 32) }));
  const service = new AgentTransactionsService({
    client: { readContract: async () => datas },
    contracts: [{ address: contract, generation: "agent-nft", startBlock: undefined }],
  } as never);
  const token = { contract, tokenId: 1n };
  const turnMs = await repeatedTurnMs(LIMIT_MS, async () => {
    expect(await service.accessProofTexts(token, bytes("22", 4_096))).toHaveLength(1_000);
  });
  expect(turnMs).toBeLessThan(LIMIT_MS);
  await expect(service.accessProofTexts(token, bytes("22", 4_097))).rejects.toMatchObject({
    code: "invalid_parameter",
    param: "targetPubkey",
  });
});

test("a transfer in a contract without proofs is refused by its contract, whatever the chain answers", async () => {
  const contract = bytes("cc", 20);
  const service = new AgentTransactionsService({
    client: {
      readContract: async () => {
        throw new Error("no such function");
      },
    },
    contracts: [{ address: contract, generation: "agentic-id", startBlock: undefined }],
  } as never);
  const request = { contract, tokenId: 1n, from: bytes("aa", 20), to: bytes("bb", 20), proofs: [] };
  const refused = { code: "invalid_parameter", param: "contract" };
  await expect(service.transfer(request)).rejects.toMatchObject(refused);
  await expect(service.clone(request)).rejects.toMatchObject(refused);
});
