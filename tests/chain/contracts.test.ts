import {
  type AbiEvent,
  type AbiFunction,
  type Hex,
  keccak256,
  parseEventLogs,
  toEventSelector,
  toFunctionSelector,
} from "viem";
import { afterAll, beforeAll, expect, test } from "vitest";
import { areArtifactsCurrent } from "../../scripts/contracts.ts";
import { flowAbi, marketAbi } from "../../src/chain/abi/flow.ts";
import { inferenceServingAbi } from "../../src/chain/abi/inference-serving.ts";
import { ledgerManagerAbi } from "../../src/chain/abi/ledger-manager.ts";
import { DEMO_USER } from "../../src/devnet/chain/accounts.ts";
import { type Anvil, startAnvil } from "../../src/devnet/chain/anvil.ts";
import { connectDevnet, type DevnetClient, revertName } from "../../src/devnet/chain/chain-client.ts";
import { type DevnetContracts, deployContracts } from "../../src/devnet/chain/deploy.ts";

/**
 * From submit-calldata-1000.txt, made by the public SDK for a file of 1000 bytes and submitter 0x1111...11.
 */
const SUBMIT_1000 =
  "0xbc8c11f800000000000000000000000000000000000000000000000000000000000000200000000000000000000000000000000000000000000000000000000000000040000000000000000000000000111111111111111111111111111111111111111100000000000000000000000000000000000000000000000000000000000003e80000000000000000000000000000000000000000000000000000000000000060000000000000000000000000000000000000000000000000000000000000008000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000001956cc56baf1a3c8904b6dbd16868ad086f52bba0cabb859fad91e8370508f6710000000000000000000000000000000000000000000000000000000000000002";
const SUBMITTER = "0x1111111111111111111111111111111111111111";
const ROOT: Hex = `0x${"ab".repeat(32)}`;

let anvil: Anvil;
let contracts: DevnetContracts;
let client: DevnetClient;

beforeAll(async () => {
  anvil = await startAnvil();
  contracts = await deployContracts(anvil.url);
  client = await connectDevnet(anvil.url, DEMO_USER.privateKey);
});
afterAll(() => anvil?.stop());

test("the committed bytecode is what the sources compile to (else run: npm run contracts)", () => {
  expect(areArtifactsCurrent()).toBe(true);
});

/** From the published documentation of router and chain (annex B) and storage (section 4). */
test.each([
  ["flow", flowAbi, "submit", "0xbc8c11f8"],
  ["flow", flowAbi, "submit", "0xef3e12dc"],
  ["flow", flowAbi, "batchSubmit", "0x49aa3395"],
  ["flow", flowAbi, "market", "0x80f55605"],
  ["flow", flowAbi, "submissionIndex", "0xb8a409ac"],
  ["flow", flowAbi, "numSubmissions", "0x77e19824"],
  ["flow", flowAbi, "tree", "0xfd54b228"],
  ["flow", flowAbi, "getFlowRootByTxSeq", "0x6d7ad0fc"],
  ["flow", flowAbi, "firstBlock", "0x231b0268"],
  ["flow", flowAbi, "paused", "0x5c975abb"],
  ["market", marketAbi, "pricePerSector", "0x61ec5082"],
  ["inference", inferenceServingAbi, "getService", "0x15a52302"],
  ["inference", inferenceServingAbi, "getAllServices", "0xa09cfca9"],
  ["inference", inferenceServingAbi, "getAccount", "0xfd590847"],
  ["ledger", ledgerManagerAbi, "getLedger", "0xf7cd6af9"],
  ["ledger", ledgerManagerAbi, "getAllLedgers", "0x987086f0"],
  ["ledger", ledgerManagerAbi, "depositFund", "0x8d0d8cb6"],
  ["ledger", ledgerManagerAbi, "depositFundFor", "0xf585f3ea"],
  ["ledger", ledgerManagerAbi, "addLedger", "0xc5e53f7e"],
  ["ledger", ledgerManagerAbi, "transferFund", "0x2ba43b82"],
  ["ledger", ledgerManagerAbi, "retrieveFund", "0x31404a19"],
  ["ledger", ledgerManagerAbi, "refund", "0x278ecde1"],
] as const)(
  "%s: the ABI's %3$s %2$s is the public network's, and our contract has it",
  async (name, abi, item, selector) => {
    const functions: readonly AbiFunction[] = abi.filter((entry) => entry.type === "function");
    const selectors = functions
      .filter((entry) => entry.name === item)
      .map((entry) => toFunctionSelector(entry));
    expect(selectors).toContain(selector);
    if (item === "getFlowRootByTxSeq") return; // our Flow keeps no tree
    expect(await client.getCode({ address: contracts[name] })).toContain(selector.slice(2));
  },
);

test.each([
  [flowAbi, "Submit", "0x167ce04d2aa1981994d3a31695da0d785373335b1078cec239a1a3a2c7675555"],
  [flowAbi, "NewEpoch", "0xbc8a3fd82465d43f1709e44ed882f7e1af0147274196ef1ec009f5d52ff4e993"],
  [
    inferenceServingAbi,
    "ServiceUpdated",
    "0x30ecc203691b2d18e17ee75d47caf34a3fb9f86e855f7e0414d3cec26d0c424b",
  ],
  [
    inferenceServingAbi,
    "ServiceRemoved",
    "0x29d546abb6e94f4f04d5bdccb6682316f597d43776078f47e273f000e77b2a91",
  ],
  [
    inferenceServingAbi,
    "BalanceUpdated",
    "0x526824944047da5b81071fb6349412005c5da81380b336103fbe5dd34556c776",
  ],
  [
    inferenceServingAbi,
    "RefundRequested",
    "0x54377dfdebf06f6df53fbda737d2dcd7e141f95bbfb0c1223437e856b9de3ac3",
  ],
  [
    inferenceServingAbi,
    "TEESettlementResult",
    "0x1f69e5b87fd0ce34b3760ba6e5d8aa95a36e316c3ba44e1e65a9d0eb9e96d0bf",
  ],
  [
    inferenceServingAbi,
    "ProviderTEESignerAcknowledged",
    "0x4909107c46469d21135443e891c6ecae55b5baa31b338d50f391935308b08f89",
  ],
  [
    inferenceServingAbi,
    "ProviderStaked",
    "0xcd6dbb0e62eeb71e114bae8b2e2547921dd19209bebf32b595be3e7d247dbbb4",
  ],
  [
    inferenceServingAbi,
    "ProviderStakeReturned",
    "0x17f7db034d4b59fadec3e44a684cb4396ca10fd036c4e4f718bf06e993715882",
  ],
  [inferenceServingAbi, "TokenRevoked", "0xcf558f061a5a4e28657b8e5c662b95b8258d880896e7a859299457be036ed4a4"],
  [
    inferenceServingAbi,
    "TokensRevoked",
    "0x70147140547b3e1660123a6725577c5574b4d40747abe6ff7c458f449e18b84f",
  ],
  [
    inferenceServingAbi,
    "AllTokensRevoked",
    "0x989726e0ba0fa7747d8a6618329b929bfcc4f3ac46de5930a368310944f75547",
  ],
  [
    inferenceServingAbi,
    "AccountDeleted",
    "0x342d961f860d5b1c27877a790eff2b213c020d1955a4903d6a9bf3ed590b7cd7",
  ],
  [ledgerManagerAbi, "FundSpent", "0x6f81b9cf4ed9328799879be7651da4420ab1bc260b34ea71f72e9659aa548e68"],
  [
    ledgerManagerAbi,
    "LedgerInfoUpdated",
    "0x12d213c9bc59dc8d250f0d6aba2d21e4e500a72a76621a44600697a285833fb1",
  ],
  [
    ledgerManagerAbi,
    "RecommendedServiceUpdated",
    "0x22cc4700d5c4d3ff57ddfb4bb70d5a0e1bed5c060482e8eeeb8672d4471ad5e2",
  ],
  [
    ledgerManagerAbi,
    "ServiceRegistered",
    "0x4c76643f3c678c590db6e8ad9fe0bb6e75d36cb853c3bd06c487607ff35e6f71",
  ],
] as const)("the topic of an event is the public network's", (abi, name, topic) => {
  const events: readonly AbiEvent[] = abi.filter((entry) => entry.type === "event");
  expect(events.filter((entry) => entry.name === name).map((entry) => toEventSelector(entry))).toEqual([
    topic,
  ]);
});

test("the public SDK's submission is placed where the public Flow would place it", async () => {
  const hash = await client.sendTransaction({ to: contracts.flow, data: SUBMIT_1000, value: 4n * 10n ** 9n });
  const first = await submitted(hash);
  expect(first).toMatchObject({ sender: SUBMITTER, submissionIndex: 0n, startPos: 4n, length: 4n });
  expect(first.submission).toMatchObject({ length: 1000n, tags: "0x", nodes: [{ height: 2n }] });
  expect(first.identity).toBe(keccak256(first.submission.nodes[0]?.root ?? "0x"));

  const big = await submitted(await submit({ length: 700_000n, heights: [11n, 9n, 8n] }));
  expect(big).toMatchObject({ submissionIndex: 1n, startPos: 2048n, length: 2816n });
  for (const startPos of [4864n, 4865n, 4866n])
    expect(await submitted(await submit({ length: 1n, heights: [0n] }))).toMatchObject({ startPos });

  const flow = { address: contracts.flow, abi: flowAbi } as const;
  expect(await client.readContract({ ...flow, functionName: "numSubmissions" })).toBe(5n);
  expect(await client.readContract({ ...flow, functionName: "submissionIndex" })).toBe(5n);
  expect(await client.readContract({ ...flow, functionName: "tree" })).toEqual([4867n, 13n]);
});

test("under the older ABI the sender is the submitter", async () => {
  const args = [{ length: 256n, tags: "0x", nodes: [{ root: ROOT, height: 0n }] }] as const;
  const hash = await client.writeContract({
    address: contracts.flow,
    abi: flowAbi,
    functionName: "submit",
    args,
    value: 10n ** 9n,
  });
  expect(await submitted(hash)).toMatchObject({ sender: DEMO_USER.address, length: 1n });
});

test("a batch is one payment and one event per file", async () => {
  const file = {
    data: { length: 256n, tags: "0x", nodes: [{ root: ROOT, height: 0n }] },
    submitter: SUBMITTER,
  } as const;
  const hash = await client.writeContract({
    address: contracts.flow,
    abi: flowAbi,
    functionName: "batchSubmit",
    args: [[file, file]],
    value: 2n * 10n ** 9n,
  });
  const { logs } = await client.waitForTransactionReceipt({ hash });
  expect(parseEventLogs({ abi: flowAbi, logs, eventName: "Submit" })).toHaveLength(2);
});

test("a sector must be paid for", async () => {
  const refused = submit({ length: 1000n, heights: [2n], valueNeuron: 4n * 10n ** 9n - 1n });
  expect(await refused.then(() => "accepted", revertName)).toBe("NotEnoughFee");
});

test.each([
  ["no nodes", { length: 1n, heights: [] }],
  ["heights that do not decrease", { length: 1024n, heights: [2n, 2n] }],
  ["five levels", { length: 17n * 256n, heights: [4n, 0n] }],
  ["more bytes than sectors", { length: 257n, heights: [0n] }],
  ["a shape larger than the file needs", { length: 512n, heights: [2n] }],
  ["one padding unit too many", { length: 15n * 256n, heights: [4n] }],
  ["the zero address as submitter", { length: 1n, heights: [0n], submitter: `0x${"00".repeat(20)}` }],
] as const)("a submission with %s is invalid", async (_, submission) => {
  await expect(submit(submission)).rejects.toThrow("Invalid submission");
});

async function submit(submission: {
  readonly length: bigint;
  readonly heights: readonly bigint[];
  readonly submitter?: Hex;
  readonly valueNeuron?: bigint;
}): Promise<Hex> {
  const { length, heights, submitter = SUBMITTER } = submission;
  const sectors = heights.reduce((sum, height) => sum + (1n << height), 0n);
  const data = { length, tags: "0x", nodes: heights.map((height) => ({ root: ROOT, height })) } as const;
  return client.writeContract({
    address: contracts.flow,
    abi: flowAbi,
    functionName: "submit",
    args: [{ data, submitter }],
    value: submission.valueNeuron ?? sectors * 10n ** 9n,
  });
}

async function submitted(hash: Hex) {
  const { logs } = await client.waitForTransactionReceipt({ hash });
  const [event] = parseEventLogs({ abi: flowAbi, logs, eventName: "Submit" });
  if (!event) throw new Error("no Submit event");
  return event.args;
}
