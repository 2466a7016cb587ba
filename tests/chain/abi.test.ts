import { readFileSync } from "node:fs";
import {
  type Abi,
  type AbiEvent,
  type AbiFunction,
  keccak256,
  numberToHex,
  parseAbi,
  toEventSelector,
  toFunctionSelector,
  toHex,
} from "viem";
import { describe, expect, test } from "vitest";
import { agentMarketAbi } from "../../src/chain/abi/agent-market.ts";
import { agentNftAbi } from "../../src/chain/abi/agent-nft.ts";
import { agentVerifierAbi, teeVerifierAbi } from "../../src/chain/abi/agent-verifier.ts";
import { agenticIdAbi } from "../../src/chain/abi/agentic-id.ts";
import { daSignersAbi } from "../../src/chain/abi/da-signers.ts";
import { fineTuningServingAbi } from "../../src/chain/abi/fine-tuning-serving.ts";
import { flowAbi } from "../../src/chain/abi/flow.ts";
import { inferenceServingAbi } from "../../src/chain/abi/inference-serving.ts";
import { ledgerManagerAbi } from "../../src/chain/abi/ledger-manager.ts";
import { vaultAbi } from "../../src/chain/abi/vault.ts";
import { wrappedBaseAbi } from "../../src/chain/abi/wrapped-base.ts";
import {
  type MarketPlace,
  offerTypedData,
  orderTypedData,
  type TypedData,
} from "../../src/chain/market/typed-data.ts";
import { wrappedBaseControlAbi } from "../../src/devnet/chain/precompiles.ts";

const ABIS: readonly Abi[] = [
  agentMarketAbi,
  agentNftAbi,
  agentVerifierAbi,
  agenticIdAbi,
  daSignersAbi,
  fineTuningServingAbi,
  flowAbi,
  inferenceServingAbi,
  ledgerManagerAbi,
  teeVerifierAbi,
  vaultAbi,
  wrappedBaseAbi,
  wrappedBaseControlAbi,
];

/** Of contracts that no part of the product reads, and of an event that no current contract declares. */
const NOT_OURS = [
  "Transferred(uint256,address,address)",
  "DataUpload(address,bytes32,uint256,uint256,uint256)",
  "ErasureCommitmentVerified(bytes32,uint256,uint256)",
  "NewMinerId(bytes32,address)",
  "UpdateMinerId(bytes32,address,address)",
  "NewSubmission(uint256,bytes32,uint256,uint256)",
];

type Line = { readonly kind: string; readonly hash: string; readonly name: string };

const LINES: readonly Line[] = readFileSync("tests/fixtures/chain-signatures.txt", "utf8")
  .split("\n")
  .filter((line) => line !== "" && !line.startsWith("#"))
  .map((line) => {
    const [kind = "", hash = "", ...name] = line.split(" ");
    return { kind, hash, name: name.join(" ") };
  });
const linesOf = (wanted: string) => LINES.filter(({ kind }) => kind === wanted);

const items = ABIS.flat();
const topics = new Set(
  items.filter((item): item is AbiEvent => item.type === "event").map((item) => toEventSelector(item)),
);
const selectors = new Set(
  items
    .filter((item): item is AbiFunction => item.type === "function")
    .map((item) => toFunctionSelector(item)),
);

test("every known event of the public network has its topic in one of our ABIs", () => {
  const missing = linesOf("E").filter(({ hash }) => !topics.has(hash as `0x${string}`));
  expect(missing.map(({ name }) => name).toSorted()).toEqual(NOT_OURS.toSorted());
});

test("every known function of the public network has its selector in one of our ABIs", () => {
  expect(linesOf("F").filter(({ hash }) => !selectors.has(hash as `0x${string}`))).toEqual([]);
});

test("roles are the hashes of their names", () => {
  expect(linesOf("R").map(({ name }) => keccak256(toHex(name)))).toEqual(
    linesOf("R").map(({ hash }) => hash),
  );
});

test("orders, offers, settlements and their domain are hashed under the public network's types", () => {
  const place: MarketPlace = { chainId: 16_602, market: `0x${"11".repeat(20)}`, version: "1.0.0" };
  const nonce = numberToHex(1, { size: 32 });
  const order = orderTypedData(place, {
    tokenId: 1n,
    expectedPrice: 1n,
    currency: null,
    expireTime: 1n,
    nonce,
    receiver: null,
  });
  const offer = offerTypedData(place, {
    tokenId: 1n,
    offerPrice: 1n,
    expireTime: 1n,
    nonce,
    needProof: true,
  });
  const settlement =
    "TEESettlement(bytes32 requestsHash,uint256 nonce,address provider,address user,uint256 totalFee)";
  expect({
    order: typeHash(order, "Order"),
    offer: typeHash(offer, "Offer"),
    settle: keccak256(toHex(settlement)),
    dom: typeHash(order, "EIP712Domain"),
  }).toEqual(Object.fromEntries(linesOf("T").map(({ name, hash }) => [name, hash])));
});

test("ERC-7857 is announced under the interface id of its four functions", () => {
  const own = ["iTransferFrom", "delegateAccess", "getDelegateAccess", "verifier"];
  const id = agentNftAbi
    .filter((item) => item.type === "function")
    .filter(({ name }) => own.includes(name))
    .reduce((sum, item) => sum ^ BigInt(toFunctionSelector(item)), 0n);
  expect(numberToHex(id, { size: 4 })).toBe("0x5762046c");
});

describe("the whole ABIs of the compute contracts", () => {
  const sections = readFileSync("tests/fixtures/compute-abis.txt", "utf8").split(/^## /m).slice(1);

  test.each([
    ["InferenceServing v1.0", inferenceServingAbi],
    ["LedgerManager", ledgerManagerAbi],
    ["FineTuningServing v1.0 = v1.1", fineTuningServingAbi],
  ] as const)("%s is the public one, entry for entry", (name, abi) => {
    const [, ...lines] =
      sections
        .find((section) => section.startsWith(name))
        ?.trim()
        .split("\n") ?? [];
    expect(lines.length).toBeGreaterThan(50);
    expect(texts(abi)).toEqual(texts(parseAbi(lines) as Abi));
  });
});

/** The EIP-712 type string of a type, which is hashed. */
function typeHash({ types }: TypedData, name: string): string {
  const fields = types[name]?.map((field) => `${field.type} ${field.name}`).join(",");
  return keccak256(toHex(`${name}(${fields})`));
}

const COMPARED = ["type", "name", "inputs", "outputs", "components", "stateMutability", "indexed"];

function texts(abi: Abi): readonly string[] {
  return abi.map((item) => JSON.stringify(item, COMPARED)).toSorted();
}
