import {
  type Abi,
  createTestClient,
  encodeAbiParameters,
  http,
  keccak256,
  parseAbiParameters,
  parseEventLogs,
  toFunctionSelector,
  toHex,
} from "viem";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { agentMarketAbi } from "../../../src/chain/abi/agent-market.ts";
import { agentNftAbi } from "../../../src/chain/abi/agent-nft.ts";
import { agentVerifierAbi, teeVerifierAbi } from "../../../src/chain/abi/agent-verifier.ts";
import { daSignersAbi } from "../../../src/chain/abi/da-signers.ts";
import { fineTuningServingAbi } from "../../../src/chain/abi/fine-tuning-serving.ts";
import { wrappedBaseAbi } from "../../../src/chain/abi/wrapped-base.ts";
import { NETWORKS } from "../../../src/chain/networks.ts";
import { refusalOf } from "../../../src/chain/rpc/contract-error.ts";
import { DEMO_USER, DEPLOYER, ROUTER_WALLET } from "../../../src/devnet/chain/accounts.ts";
import { type Anvil, startAnvil } from "../../../src/devnet/chain/anvil.ts";
import { connectDevnet, type DevnetClient } from "../../../src/devnet/chain/chain-client.ts";
import { contractAddresses, deployContracts } from "../../../src/devnet/chain/deploy.ts";
import type { Hex } from "../../../src/kernel/text/hex.ts";
import {
  agentProofs,
  iClone,
  iTransfer,
  mintAgent,
  newData,
  type ProofOptions,
  publicKeyOf,
  randomHex,
  writeAgent,
} from "../../support/chain/agents.ts";

const { agentNft, agentVerifier, teeVerifier, agentMarket, fineTuning } = contractAddresses();
const NFT = { address: agentNft, abi: agentNftAbi } as const;
const OWNER = DEMO_USER.address;
const DAY_SECONDS = 86_400;

let anvil: Anvil;
let client: DevnetClient;

beforeAll(async () => {
  anvil = await startAnvil();
  await deployContracts(anvil.url);
  client = await connectDevnet(anvil.url, DEMO_USER.privateKey);
});
afterAll(() => anvil?.stop());

const newReceiver = () => privateKeyToAccount(generatePrivateKey());

/** The error with which the contract refuses it; "taken" when it does not. */
async function outcome(work: Promise<unknown>): Promise<string> {
  return work.then(
    () => "taken",
    (error) => refusalOf(error) ?? String(error),
  );
}

const byOwner = (name: Parameters<typeof writeAgent>[2], args: readonly unknown[]) =>
  writeAgent(anvil.url, DEMO_USER.privateKey, name, args);
const byAdmin = (name: Parameters<typeof writeAgent>[2], args: readonly unknown[]) =>
  writeAgent(anvil.url, DEPLOYER.privateKey, name, args);

describe("the contracts of the development network have every function of the public ABI", () => {
  const { daSigners, wrappedBase } = NETWORKS.testnet.contracts;
  // Proxies are initialised and ours are constructed; the devnet's ledger deletes no accounts, and none can
  // be abandoned.
  const leftOut = ["deleteAccount", "initialize", "initialized", "renounceOwnership", "supportsInterface"];

  test.each([
    ["AgentNFT", agentNft, agentNftAbi, []],
    ["Verifier", agentVerifier, agentVerifierAbi, []],
    ["TeeVerifier", teeVerifier, teeVerifierAbi, []],
    ["AgentMarket", agentMarket, agentMarketAbi, []],
    ["FineTuningServing", fineTuning, fineTuningServingAbi, leftOut],
    ["DASigners", daSigners.address, daSignersAbi, []],
    ["WrappedOGBase", wrappedBase.address, wrappedBaseAbi, []],
  ] as const)("%s", async (_, address, abi: Abi, missing) => {
    const code = (await client.getCode({ address })) ?? "";
    const absent = abi
      .filter((item) => item.type === "function")
      .filter((item) => !code.includes(toFunctionSelector(item).slice(2)));
    expect(absent.map(({ name }) => name).toSorted()).toEqual(missing);
  });
});

test("a token is minted for the fee, the excess is returned, and its creator is set by the operator", async () => {
  await byAdmin("setMintFee", [100n]);
  try {
    const data = [newData("brain"), newData("memory")];
    expect(await outcome(writeAgent(anvil.url, DEMO_USER.privateKey, "mint", [data, OWNER], 99n))).toBe(
      "Insufficient mint fee",
    );
    const receipt = await writeAgent(anvil.url, DEMO_USER.privateKey, "mint", [data, OWNER], 1_000n);
    expect(await client.getBalance({ address: agentNft })).toBe(100n);
    const [updated] = parseEventLogs({ abi: agentNftAbi, logs: receipt.logs, eventName: "Updated" });
    const tokenId = updated?.args._tokenId ?? -1n;
    expect(updated?.args).toMatchObject({ _oldDatas: [], _newDatas: data });
    expect(
      await client.readContract({ ...NFT, functionName: "intelligentDatasOf", args: [tokenId] }),
    ).toEqual(data);
    expect(await outcome(byOwner("setCreator", [tokenId, OWNER]))).toMatch(
      /^AccessControlUnauthorizedAccount\(0x90F7.*0x97667070/,
    );
    await byAdmin("setCreator", [tokenId, ROUTER_WALLET.address]);
    expect(await client.readContract({ ...NFT, functionName: "creatorOf", args: [tokenId] })).toBe(
      ROUTER_WALLET.address,
    );
  } finally {
    await byAdmin("setMintFee", [0n]);
  }
});

test("a token moves with its keys, in the order of its data, and authorised users lose access", async () => {
  const { tokenId, data } = await mintAgent(anvil.url, { to: OWNER, data: [newData("a"), newData("b")] });
  await byOwner("authorizeUsage", [tokenId, ROUTER_WALLET.address]);
  const [to, sealedKeys] = [newReceiver(), ["0xaa", "0xbb"] as const];
  const proofs = await agentProofs(data, { to, sealedKeys });
  const receipt = await iTransfer(anvil.url, {
    byKey: DEMO_USER.privateKey,
    from: OWNER,
    to: to.address,
    tokenId,
    proofs,
  });
  expect(
    parseEventLogs({ abi: agentNftAbi, logs: receipt.logs }).map(({ eventName, args }) => [eventName, args]),
  ).toEqual([
    ["Transfer", { from: OWNER, to: to.address, tokenId }],
    ["PublishedSealedKey", { _to: to.address, _tokenId: tokenId, _sealedKeys: sealedKeys }],
  ]);
  expect(await client.readContract({ ...NFT, functionName: "authorizedUsersOf", args: [tokenId] })).toEqual(
    [],
  );
});

test("a clone has the same data and another id, and publishes its keys under that id", async () => {
  const { tokenId, data } = await mintAgent(anvil.url, { to: OWNER });
  const to = newReceiver();
  const proofs = await agentProofs(data, { to, sealedKeys: ["0xcc"] });
  const move = { byKey: DEMO_USER.privateKey, from: OWNER, to: to.address, tokenId, proofs };
  const { tokenId: cloneId, receipt } = await iClone(anvil.url, move);
  expect(parseEventLogs({ abi: agentNftAbi, logs: receipt.logs }).map(({ eventName }) => eventName)).toEqual([
    "Transfer",
    "Updated",
    "Cloned",
    "PublishedSealedKey",
  ]);
  const [published] = parseEventLogs({
    abi: agentNftAbi,
    logs: receipt.logs,
    eventName: "PublishedSealedKey",
  });
  expect(published?.args).toEqual({ _to: to.address, _tokenId: cloneId, _sealedKeys: ["0xcc"] });
  expect(await client.readContract({ ...NFT, functionName: "intelligentDatasOf", args: [cloneId] })).toEqual(
    data,
  );
  expect(await client.readContract({ ...NFT, functionName: "ownerOf", args: [tokenId] })).toBe(OWNER);
});

test("a delegate of the receiver may sign for it, until the delegation is revoked", async () => {
  const to = privateKeyToAccount(ROUTER_WALLET.privateKey);
  const assistant = newReceiver();
  const { tokenId, data } = await mintAgent(anvil.url, { to: OWNER });
  const move = { byKey: DEMO_USER.privateKey, from: OWNER, to: to.address, tokenId };
  const proofs = () => agentProofs(data, { to, signer: assistant });
  expect(await outcome(iTransfer(anvil.url, { ...move, proofs: await proofs() }))).toBe(
    "ERC7857AccessAssistantMismatch()",
  );
  await writeAgent(anvil.url, ROUTER_WALLET.privateKey, "delegateAccess", [assistant.address]);
  await iTransfer(anvil.url, { ...move, proofs: await proofs() });
  await writeAgent(anvil.url, ROUTER_WALLET.privateKey, "delegateAccess", [`0x${"00".repeat(20)}`]);
  expect(await client.readContract({ ...NFT, functionName: "getDelegateAccess", args: [to.address] })).toBe(
    `0x${"00".repeat(20)}`,
  );
});

describe("a transfer is refused, by its error name,", () => {
  const [to, stranger] = [newReceiver(), newReceiver()];
  const nonce = randomHex(16);
  const cases: readonly (readonly [string, Omit<ProofOptions, "to">, string])[] = [
    ["of other data", { ownershipDataHash: keccak256("0x01") }, "Invalid dataHash"],
    ["signed by a stranger", { signer: stranger }, "ERC7857AccessAssistantMismatch()"],
    ["of an unknown oracle", { oracleKey: generatePrivateKey() }, "Invalid ownership proof"],
    ["proven by ZKP", { oracleType: 1 }, "Invalid ownership proof"],
    [
      "sealed for another account",
      { targetPubkey: publicKeyOf(stranger) },
      "ERC7857WantedReceiverMismatch()",
    ],
    [
      "sealed for another key than the chosen one",
      { wantedKey: publicKeyOf(stranger) },
      "ERC7857TargetPubkeyMismatch()",
    ],
    ["with a key of odd length", { targetPubkey: "0x04" }, "Invalid public key length"],
    ["with one nonce twice", { accessNonce: nonce, ownershipNonce: nonce }, "Proof already used"],
  ];

  test.each(cases)("%s", async (_, spoiled, refusal) => {
    const { tokenId, data } = await mintAgent(anvil.url, { to: OWNER });
    const proofs = await agentProofs(data, { to, ...spoiled });
    const move = { byKey: DEMO_USER.privateKey, from: OWNER, to: to.address, tokenId, proofs };
    expect(await outcome(iTransfer(anvil.url, move))).toBe(refusal);
  });

  test("without the right proofs, or by and from the wrong accounts", async () => {
    const data = [newData("a"), newData("b")];
    const { tokenId } = await mintAgent(anvil.url, { to: OWNER, data });
    const good = await agentProofs(data, { to });
    const move = { byKey: DEMO_USER.privateKey, from: OWNER, to: to.address, tokenId, proofs: good };
    const refused = (change: Partial<typeof move>) => outcome(iTransfer(anvil.url, { ...move, ...change }));
    expect({
      none: await refused({ proofs: [] }),
      tooFew: await refused({ proofs: good.slice(1) }),
      otherOrder: await refused({ proofs: good.toReversed() }),
      toNobody: await refused({ to: `0x${"00".repeat(20)}` }),
      fromAnother: await refused({ from: to.address }),
      byAnother: await refused({ byKey: ROUTER_WALLET.privateKey }),
      noToken: await refused({ tokenId: 10n ** 6n }),
    }).toEqual({
      none: "ERC7857EmptyProof()",
      tooFew: "ERC7857ProofCountMismatch()",
      otherOrder: "ERC7857DataHashMismatch()",
      toNobody: "ERC721InvalidReceiver(0x0000000000000000000000000000000000000000)",
      fromAnother: `ERC721InvalidSender(${to.address})`,
      byAnother: `ERC721InsufficientApproval(${ROUTER_WALLET.address}, ${tokenId})`,
      noToken: `ERC721InvalidSender(${OWNER})`,
    });
    expect(await refused({})).toBe("taken");
  });
});

test("a proof is valid once; after seven days any account may have it forgotten, and then it is valid again", async () => {
  const data = [newData()];
  const first = await mintAgent(anvil.url, { to: OWNER, data });
  const second = await mintAgent(anvil.url, { to: OWNER, data });
  const to = newReceiver();
  const proofs = await agentProofs(data, { to });
  const move = (tokenId: bigint) =>
    iTransfer(anvil.url, { byKey: DEMO_USER.privateKey, from: OWNER, to: to.address, tokenId, proofs });
  const forget = async () => {
    const stranger = await connectDevnet(anvil.url, ROUTER_WALLET.privateKey);
    const nonces = proofs.flatMap(({ accessProof, ownershipProof }) => [
      accessProof.nonce,
      ownershipProof.nonce,
    ]);
    const hash = await stranger.writeContract({
      address: agentVerifier,
      abi: agentVerifierAbi,
      functionName: "cleanExpiredProofs",
      args: [nonces.map(nonceHash)],
    });
    await stranger.waitForTransactionReceipt({ hash });
  };
  await move(first.tokenId);
  await forget();
  expect(await outcome(move(second.tokenId))).toBe("Proof already used");
  const chain = createTestClient({ mode: "anvil", transport: http(anvil.url) });
  await chain.increaseTime({ seconds: 7 * DAY_SECONDS + 60 });
  await forget();
  expect(await outcome(move(second.tokenId))).toBe("taken");
});

test("at most 100 users are authorised, each once, and only by the owner", async () => {
  const { tokenId } = await mintAgent(anvil.url, { to: OWNER });
  const users = Array.from({ length: 100 }, (_, index) => toHex(index + 1, { size: 20 }));
  await byOwner("batchAuthorizeUsage", [tokenId, users]);
  const said = {
    oneTooMany: await outcome(byOwner("authorizeUsage", [tokenId, randomHex(20)])),
    nobody: await outcome(byOwner("authorizeUsage", [tokenId, `0x${"00".repeat(20)}`])),
    byAnother: await outcome(byAdmin("authorizeUsage", [tokenId, OWNER])),
    revokedNever: await outcome(byOwner("revokeAuthorization", [tokenId, OWNER])),
    revoked: await outcome(byOwner("revokeAuthorization", [tokenId, users[0]])),
    twice: await outcome(byOwner("authorizeUsage", [tokenId, users[1]])),
    cleared: await outcome(byOwner("clearAuthorizedUsers", [tokenId])),
  };
  expect(said).toEqual({
    oneTooMany: "ERC7857TooManyAuthorizedUsers()",
    nobody: "ERC7857InvalidAuthorizedUser(0x0000000000000000000000000000000000000000)",
    byAnother: `ERC721IncorrectOwner(${DEPLOYER.address}, ${tokenId}, ${OWNER})`,
    revokedNever: "ERC7857NotAuthorized()",
    revoked: "taken",
    twice: "ERC7857AlreadyAuthorized()",
    cleared: "taken",
  });
  expect(await client.readContract({ ...NFT, functionName: "authorizedUsersOf", args: [tokenId] })).toEqual(
    [],
  );
});

test("the oracle of TeeVerifier is one address, which only its admin replaces", async () => {
  const oracle = privateKeyToAccount(generatePrivateKey());
  const message = keccak256("0x1234");
  const contract = { address: teeVerifier, abi: teeVerifierAbi } as const;
  const update = { ...contract, functionName: "updateOracleAddress", args: [oracle.address] } as const;
  expect(await outcome(client.simulateContract(update))).toMatch(/^AccessControlUnauthorizedAccount/);
  const signature = await oracle.sign({ hash: message });
  const isOracle = (text: Hex) =>
    client.readContract({ ...contract, functionName: "verifyTEESignature", args: [message, text] });
  expect(await isOracle(signature)).toBe(false);
  expect(await outcome(isOracle("0x00"))).toBe("Invalid signature length");
});

function nonceHash(nonce: Hex): Hex {
  return keccak256(encodeAbiParameters(parseAbiParameters("bytes, address"), [nonce, agentNft]));
}
