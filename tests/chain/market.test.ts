// @module-tag large
import { erc20Abi, hashTypedData, zeroAddress } from "viem";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { agentNftAbi } from "../../src/chain/abi/agent-nft.ts";
import { parseMarketContract } from "../../src/chain/market/market-contract.ts";
import type { Match } from "../../src/chain/market/market-transactions.service.ts";
import type { Database } from "../../src/db/database.ts";
import { DEPLOYER } from "../../src/devnet/chain/accounts.ts";
import { type Anvil, DEVNET_CHAIN_ID, startAnvil } from "../../src/devnet/chain/anvil.ts";
import { contractAddresses, deployContracts } from "../../src/devnet/chain/deploy.ts";
import { type Hex, lowerHex } from "../../src/kernel/text/hex.ts";
import { agentProofs, newData, randomHex, writeAgent } from "../support/chain/agents.ts";
import {
  adminOfMarket,
  giveDollars,
  MARKET,
  type MatchOptions,
  makeMatch,
  openMarket,
  PRICE,
  sendPrepared,
  testClient,
} from "../support/chain/market.ts";
import { openTestDatabase } from "../support/servers/database.ts";

const { agentNft, devToken } = contractAddresses();

const FEE = 25_000n;

let anvil: Anvil;
beforeAll(async () => {
  anvil = await startAnvil();
  await deployContracts(anvil.url);
});
afterAll(() => anvil?.stop());

let database: Database;
const ends: (() => Promise<void>)[] = [];
beforeAll(async () => {
  database = await openTestDatabase(undefined, { onEnd: (end) => void ends.unshift(end) });
});
afterAll(async () => {
  for (const end of ends) await end();
});

const open = () => openMarket(anvil.url, database);
const newMatch = (options?: MatchOptions) => makeMatch(anvil.url, open(), options);

async function now(): Promise<bigint> {
  return (await testClient(anvil.url).getBlock()).timestamp;
}

const balanceOf = (address: Hex) => testClient(anvil.url).getBalance({ address });
const ownerOf = (tokenId: bigint) =>
  testClient(anvil.url).readContract({
    address: agentNft,
    abi: agentNftAbi,
    functionName: "ownerOf",
    args: [tokenId],
  });

/** The result of a match, "taken" or the failure's text. */
async function outcome(work: Promise<unknown>): Promise<string> {
  return work.then(
    () => "taken",
    (error: Error) => error.message,
  );
}

describe("an order and an offer", () => {
  test("match for native coins sent along: the seller receives the price without the fee, the buyer the token", async () => {
    const { deals } = open();
    const { match, seller, buyer, tokenId } = await newMatch();
    const before = await balanceOf(seller.address);
    const prepared = await deals.fulfill(match);
    expect(prepared).toMatchObject({ from: lowerHex(buyer.address), to: MARKET.address, value: PRICE });
    expect(prepared.warnings).toEqual([
      "The market's fee is 2.5 % of the price.",
      "The token is transferred without its sealed keys: the buyer cannot decrypt its data.",
    ]);
    // The excess is returned.
    await sendPrepared(anvil.url, buyer, { ...prepared, value: PRICE * 2n });
    expect(await balanceOf(seller.address)).toBe(before + PRICE - FEE);
    expect(await ownerOf(tokenId)).toBe(buyer.address);
  });

  test("match with the keys: the proofs of receiver and oracle are sent along, and the keys are published", async () => {
    const { deals } = open();
    const data = [newData("a"), newData("b")];
    const { match, buyer } = await newMatch({ data, offer: { needProof: true } });
    const proofs = (await agentProofs(data, { to: buyer })).map(({ accessProof, ownershipProof }) => ({
      accessProof,
      ownershipProof: { ...ownershipProof, oracleType: "tee" as const },
    }));
    expect(await outcome(deals.fulfill(match))).toMatch(/^ERC7857EmptyProof/);
    const hash = await sendPrepared(anvil.url, buyer, await deals.fulfill({ ...match, proofs }));
    const { logs } = await testClient(anvil.url).getTransactionReceipt({ hash });
    expect(logs.map(({ topics: [topic] }) => topic)).toContain(
      "0x77ac1306adadb66d303dd0baa0534083040b337a1212922215a3ccbaf6fec56c",
    );
  });

  test("match for an ERC-20, although the buyer meant the native token: an offer binds no currency", async () => {
    const { deals, orders } = open();
    const { match, seller, buyer } = await newMatch({ order: { currency: devToken } });
    expect(await outcome(deals.fulfill(match))).toMatch(
      /^ERC20InsufficientAllowance\(.*prepareCurrencyApproval/,
    );
    expect(await orders.checkOffer(match.offer, match.offerSignature, devToken)).toMatchObject({
      problems: [{ refusal: /^ERC20InsufficientBalance/ }, { refusal: /^ERC20InsufficientAllowance/ }].map(
        ({ refusal }) => ({ refusal: expect.stringMatching(refusal) }),
      ),
    });
    await giveDollars(anvil.url, buyer, PRICE);
    const prepared = await deals.fulfill(match);
    expect(prepared.value).toBe(0n);
    await sendPrepared(anvil.url, buyer, prepared);
    const erc20 = { address: devToken, abi: erc20Abi, functionName: "balanceOf" } as const;
    expect(await testClient(anvil.url).readContract({ ...erc20, args: [seller.address] })).toBe(PRICE - FEE);
  });

  test("match for the buyer's balance in the market, whoever sends the match", async () => {
    const { deals, market } = open();
    const { match, seller, buyer, tokenId } = await newMatch();
    const byBalance = { ...match, payment: "balance", from: seller.address } as const;
    expect(await outcome(deals.fulfill(byBalance))).toMatch(/^Insufficient balance: the buyer's balance/);
    const deposit = await deals.deposit({ account: buyer.address, amount: PRICE + 5n, from: seller.address });
    await sendPrepared(anvil.url, seller, deposit);
    await sendPrepared(anvil.url, seller, await deals.fulfill(byBalance));
    expect(await ownerOf(tokenId)).toBe(buyer.address);
    expect(await market.balanceOf(buyer.address)).toBe(5n);
    expect(await outcome(deals.withdraw({ account: buyer.address, amount: 6n }))).toBe(
      "Insufficient balance",
    );
    await sendPrepared(anvil.url, buyer, await deals.withdraw({ account: buyer.address, amount: 5n }));
    expect(await market.balanceOf(buyer.address)).toBe(0n);
  });

  test("leave a share of the fee to the token's creator, which may withdraw it", async () => {
    const { deals, market } = open();
    const { match, seller, buyer, tokenId } = await newMatch();
    const partner = seller;
    await adminOfMarket(anvil.url, "setPartnerFeeRate", [partner.address, 4_000n]);
    await writeAgent(anvil.url, DEPLOYER.privateKey, "setCreator", [tokenId, partner.address]);
    const platform = await market.feeBalance(null);
    await sendPrepared(anvil.url, buyer, await deals.fulfill(match));
    const share = (FEE * 4_000n) / 10_000n;
    expect(await market.partnerRate(partner.address)).toBe(4_000);
    expect(await market.partnerFeeBalance(partner.address, null)).toBe(share);
    expect(await market.feeBalance(null)).toBe(platform + FEE - share);
    const mine = { partner: partner.address, currency: null };
    await sendPrepared(anvil.url, partner, await deals.withdrawPartnerFees(mine));
    expect(await outcome(deals.withdrawPartnerFees(mine))).toBe("No fees to withdraw");
  });
});

describe("a match is refused by the contract's error name and reason,", () => {
  const hour = 3_600n;
  type Spoil = (found: Awaited<ReturnType<typeof newMatch>>) => Promise<Match> | Match;
  const cases: readonly (readonly [string, MatchOptions, Spoil, RegExp])[] = [
    [
      "when the token is another's, or the order was altered after signing",
      {},
      ({ match }) => ({ ...match, order: { ...match.order, expectedPrice: PRICE - 1n } }),
      /^NFT owner mismatch: the token belongs to 0x.* signed by 0x.*differs from the signed order\.$/,
    ],
    [
      "when the price is too low",
      { offer: { offerPrice: PRICE - 1n } },
      ({ match }) => match,
      /^Price too low: the offer is 999999, and the order asks for 1000000\.$/,
    ],
    [
      "when the order is reserved for another buyer",
      { order: { receiver: `0x${"11".repeat(20)}` } },
      ({ match }) => match,
      /^Receiver mismatch: only 0x1111.* may buy, but the offer is signed by 0x/,
    ],
    [
      "when they are of different tokens",
      {},
      async ({ match }) => {
        const other = await newMatch();
        return { ...match, offer: other.match.offer, offerSignature: other.match.offerSignature };
      },
      /^TokenId mismatch: the order and the offer name different tokens\.$/,
    ],
    [
      "when the market may not move the token",
      { approved: false },
      ({ match }) => match,
      /^ERC721InsufficientApproval\(0x.*\): the seller has not approved the market .*prepareMarketApproval\.$/,
    ],
    [
      "when a signature is invalid",
      {},
      ({ match }) => ({ ...match, orderSignature: `0x${"00".repeat(65)}` as const }),
      /^ECDSAInvalidSignature\(\): a signature must be 65 bytes/,
    ],
    [
      "when a signature has another length",
      {},
      ({ match }) => ({ ...match, orderSignature: "0x1234" }),
      /^ECDSAInvalidSignatureLength\(2\): a signature must be 65 bytes/,
    ],
  ];

  test.each(cases)("%s", async (_, options, spoil, refusal) => {
    const { deals } = open();
    const found = await newMatch(options);
    expect(await outcome(deals.fulfill(await spoil(found)))).toMatch(refusal);
  });

  test("when either was used before", async () => {
    const { deals, orders } = open();
    const nonce = randomHex(32);
    const first = await newMatch({ order: { nonce }, offer: { nonce } });
    await sendPrepared(anvil.url, first.buyer, await deals.fulfill(first.match));
    const order = await newMatch({ order: { nonce } });
    expect(await outcome(deals.fulfill(order.match))).toBe(
      "Order already used: an order with this nonce was fulfilled: this one, or one of another account.",
    );
    expect(await orders.checkOrder(order.match.order, order.match.orderSignature)).toMatchObject({
      problems: [{ refusal: "Order already used" }],
    });
    const offer = await newMatch({ offer: { nonce } });
    expect(await outcome(deals.fulfill(offer.match))).toMatch(
      /^Offer already used: an offer with this nonce/,
    );
  });

  test("when either has expired, also the second", async () => {
    const { deals, orders } = open();
    const late = (await now()) + 10n * hour;
    const order = await newMatch({ offer: { expireTime: late } });
    const offer = await newMatch({ order: { expireTime: late } });
    const chain = testClient(anvil.url);
    await chain.setNextBlockTimestamp({ timestamp: offer.match.offer.expireTime });
    await chain.mine({ blocks: 1 });
    expect(await outcome(deals.fulfill(offer.match))).toBe("taken");
    await chain.setNextBlockTimestamp({ timestamp: offer.match.offer.expireTime + 1n });
    await chain.mine({ blocks: 1 });
    expect(await outcome(deals.fulfill(order.match))).toMatch(
      /^Order expired: it expired at \d+, and the time is \d+\.$/,
    );
    expect(await outcome(deals.fulfill(offer.match))).toMatch(/^Offer expired: it expired at/);
    expect(await orders.checkOffer(offer.match.offer, offer.match.offerSignature)).toMatchObject({
      problems: [{ refusal: "Offer expired" }],
    });
    await expect(orders.order({ ...order.match.order })).rejects.toMatchObject({
      code: "invalid_parameter",
      param: "order.expireTime",
    });
  });

  test("while the market is paused", async () => {
    const { deals, market } = open();
    const { match, buyer } = await newMatch();
    await adminOfMarket(anvil.url, "pause", []);
    try {
      expect(await outcome(deals.fulfill(match))).toBe("EnforcedPause(): the market is paused.");
      expect(await outcome(deals.deposit({ account: buyer.address, amount: 1n, from: buyer.address }))).toBe(
        "Contract is paused",
      );
      expect(await market.state()).toMatchObject({ isPaused: true, feeRate: 250, version: "1.0.0" });
    } finally {
      await adminOfMarket(anvil.url, "unpause", []);
    }
  });
});

describe("the signed data", () => {
  test("is hashed as the contract does, on this chain for this market, and survives JSON", async () => {
    const { orders } = open();
    const { match, seller } = await newMatch();
    const { typedData, hash, nonce } = await orders.order(match.order);
    expect(nonce).toBe(match.order.nonce);
    const plain = JSON.parse(JSON.stringify(typedData));
    expect(hashTypedData(plain)).toBe(hash);
    expect(plain).toMatchObject({
      domain: {
        name: "AgentMarket",
        version: "1.0.0",
        chainId: DEVNET_CHAIN_ID,
        verifyingContract: MARKET.address,
      },
      primaryType: "Order",
      message: {
        expectedPrice: String(PRICE),
        currency: zeroAddress,
        receiver: zeroAddress,
        chainId: "16602",
      },
    });
    expect(await orders.checkOrder(match.order, match.orderSignature)).toMatchObject({
      hash,
      signer: lowerHex(seller.address),
      problems: [],
    });
  });

  test("has fresh nonces of 32 bytes, and no others are accepted", async () => {
    const { orders } = open();
    const expireTime = (await now()) + 60n;
    const wanted = { tokenId: 1n, expectedPrice: 1n, currency: null, expireTime, receiver: null };
    const nonces = await Promise.all([1, 2, 3].map(async () => (await orders.order(wanted)).nonce));
    expect(new Set(nonces).size).toBe(3);
    await expect(orders.order({ ...wanted, nonce: "0x1234" })).rejects.toMatchObject({
      code: "invalid_parameter",
      param: "order.nonce",
    });
  });

  test("has warnings: no cancelling, shared nonces, an offer's open currency and a token without keys", async () => {
    const { orders } = open();
    const expireTime = (await now()) + 40n * 86_400n;
    const order = { tokenId: 1n, expectedPrice: 0n, currency: devToken, expireTime, receiver: null };
    const offer = { tokenId: 1n, offerPrice: 10n ** 18n, expireTime, needProof: false };
    const { warnings: ofOrder } = await orders.order(order);
    const { warnings: ofOffer } = await orders.offer(offer);
    expect(ofOrder).toEqual([
      expect.stringMatching(/^An order cannot be cancelled/),
      expect.stringMatching(/^Nonces are shared by all accounts/),
      "Anyone may buy.",
      "The price is 0.",
      expect.stringContaining(lowerHex(devToken)),
      expect.stringMatching(/^It stays valid for (39|40) days\.$/),
    ]);
    expect(ofOffer).toEqual([
      expect.stringMatching(/^An offer binds no currency.*\(1 of the network's token\).*any ERC-20/),
      expect.stringMatching(/^An offer cannot be cancelled/),
      expect.stringMatching(/^Nonces are shared by all accounts/),
      expect.stringContaining("needProof"),
      expect.stringMatching(/^It stays valid/),
    ]);
  });

  test("is checked without sending anything: a stranger's, an unapproved token's, a missing one's", async () => {
    const { orders } = open();
    const unapproved = await newMatch({ approved: false });
    const { order, orderSignature } = unapproved.match;
    expect((await orders.checkOrder(order, orderSignature)).problems).toEqual([
      {
        refusal: `ERC721InsufficientApproval(${MARKET.address}, ${order.tokenId})`,
        text: expect.stringContaining("prepareMarketApproval"),
      },
    ]);
    const other = await newMatch();
    const stranger = await orders.checkOrder(order, other.match.orderSignature);
    expect(stranger.problems).toMatchObject([{ refusal: "NFT owner mismatch" }]);
    const missing = await orders.checkOrder({ ...order, tokenId: 10n ** 9n }, orderSignature);
    expect(missing.problems[0]?.refusal).toMatch(/^ERC721NonexistentToken\(1000000000\)/);
    const none = await orders.checkOffer(other.match.offer, "0x00");
    expect(none).toMatchObject({ signer: undefined, problems: [{ refusal: "ECDSAInvalidSignature()" }] });
  });

  test("is valid only with the low half of a signature, as in the contract", async () => {
    const { orders } = open();
    const { match } = await newMatch();
    const [r, s, v] = [
      match.offerSignature.slice(2, 66),
      match.offerSignature.slice(66, 130),
      match.offerSignature.slice(130),
    ];
    const order = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n;
    const high = (order - BigInt(`0x${s}`)).toString(16).padStart(64, "0");
    const mirrored = `0x${r}${high}${v === "1b" ? "1c" : "1b"}` as const;
    expect((await orders.checkOffer(match.offer, mirrored)).signer).toBeUndefined();
    const oldStyle = `0x${r}${s}${v === "1b" ? "00" : "01"}` as const;
    expect((await orders.checkOffer(match.offer, oldStyle)).signer).toBeUndefined();
  });
});

describe("without a market", () => {
  const nowhere = { address: `0x${"77".repeat(20)}`, token: MARKET.token, startBlock: undefined } as const;

  test.each([
    ["when none is configured", null],
    ["when no contract is at its address", nowhere],
  ] as const)("everything reports its absence, %s", async (_, contract) => {
    const { market, orders, deals } = openMarket(anvil.url, database, contract);
    const wanted = { tokenId: 1n, offerPrice: 1n, expireTime: 10n ** 12n, needProof: true };
    const account = `0x${"11".repeat(20)}` as const;
    for (const asked of [
      () => market.state(),
      () => market.balanceOf(account),
      () => orders.offer(wanted),
      () => orders.checkOffer({ ...wanted, nonce: randomHex(32) }, "0x"),
      () => deals.withdraw({ account, amount: 1n }),
    ])
      await expect(asked()).rejects.toMatchObject({ code: "contract_not_found" });
  });

  test("no fills are known", async () => {
    const { market } = openMarket(anvil.url, database, null);
    await expect(market.fills({}, { first: 1 })).rejects.toMatchObject({ code: "contract_not_found" });
  });
});

test.each([
  ["0xAbCdefabcdefabcdefabcdefabcdefabcdefabcd/0x1111111111111111111111111111111111111111@12", 12n],
  ["0xAbCdefabcdefabcdefabcdefabcdefabcdefabcd/0x1111111111111111111111111111111111111111", undefined],
])("a market is configured as %s", (text, startBlock) => {
  expect(parseMarketContract(text)).toEqual({
    address: "0xabcdefabcdefabcdefabcdefabcdefabcdefabcd",
    token: "0x1111111111111111111111111111111111111111",
    startBlock,
  });
});

test.each([
  "",
  "0x11",
  "0x1111111111111111111111111111111111111111",
  "0x1111111111111111111111111111111111111111/@1",
])("%j is not a market", (text) => {
  expect(parseMarketContract(text)).toBeUndefined();
});
