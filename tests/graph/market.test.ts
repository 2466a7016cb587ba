// @module-tag large
import { expect, test } from "vitest";
import { contractAddresses } from "../../src/devnet/chain/deploy.ts";
import { lowerHex } from "../../src/kernel/text/hex.ts";
import { agentProofs, mintAgent, newData, type Proof } from "../support/chain/agents.ts";
import { newTrader, sendPrepared, signTyped, type Trader, testClient } from "../support/chain/market.ts";
import { ask, followEvents, followSocket, type GraphResult } from "../support/clients/graph-client.ts";
import { useStack } from "../support/stack.ts";
import { until } from "../support/until.ts";

const stack = useStack();
const PRICE = "1000000";

async function query(text: string, variables: object = {}): Promise<NonNullable<GraphResult["data"]>> {
  const { data, errors } = await ask(stack().origin, undefined, text, variables);
  if (errors) throw new Error(`${errors[0]?.extensions?.code}: ${errors[0]?.message}`);
  return data;
}

const PREPARED = "{ to data value warnings }";

/** Signs an order or an offer with the typed data from the graph, and adds its nonce. */
async function signed<Fields extends object>(field: "Order" | "Offer", fields: Fields, trader: Trader) {
  const { signable } = await query(
    `query ($fields: Market${field}Input!) { signable: market${field}TypedData(${field.toLowerCase()}: $fields) { typedData nonce hash warnings } }`,
    { fields },
  );
  return {
    input: { ...fields, nonce: signable.nonce },
    signature: await signTyped(trader, signable.typedData),
    hash: signable.hash as string,
    warnings: signable.warnings as readonly string[],
  };
}

async function newSale() {
  const { rpcUrl } = stack();
  const [seller, buyer] = [await newTrader(rpcUrl), await newTrader(rpcUrl)];
  const data = [newData("mind")];
  const { tokenId } = await mintAgent(rpcUrl, { to: seller.address, data });
  const expireTime = String((await testClient(rpcUrl).getBlock()).timestamp + 3_600n);
  const fields = { tokenId: String(tokenId), expireTime };
  const order = await signed("Order", { ...fields, expectedPrice: PRICE }, seller);
  const offer = await signed("Offer", { ...fields, offerPrice: PRICE }, buyer);
  return { seller, buyer, data, tokenId: String(tokenId), order, offer };
}

const MATCH = `query ($order: MarketOrderInput!, $orderSignature: Hex!, $offer: MarketOfferInput!, $offerSignature: Hex!,
    $proofs: [TransferProofInput!]!) {
  prepareFulfillOrder(order: $order, orderSignature: $orderSignature, offer: $offer, offerSignature: $offerSignature,
    proofs: $proofs) ${PREPARED} }`;

function matchOf({ order, offer }: Awaited<ReturnType<typeof newSale>>, proofs: readonly Proof[]) {
  return {
    order: order.input,
    orderSignature: order.signature,
    offer: offer.input,
    offerSignature: offer.signature,
    proofs: proofs.map(({ accessProof, ownershipProof }) => ({
      accessProof,
      ownershipProof: { ...ownershipProof, oracleType: "TEE" },
    })),
  };
}

test("a token is sold through GraphQL: signed, checked, fulfilled with its keys, and published over both transports", async () => {
  const { rpcUrl, origin } = stack();
  const sale = await newSale();
  const { seller, buyer, data, tokenId, order, offer } = sale;
  const news = `subscription { orderFulfilled(tokenId: "${tokenId}") { id removed price currency seller { address } buyer { address } } }`;
  const before = stack().app.events.openStreams;
  const listeners = [
    await followSocket(origin, undefined, news),
    // Identical subscriptions would share a stream, and the test could not tell which one is open.
    await followEvents(origin, undefined, news.replace("{ id ", "{ __typename id ")),
  ];
  await until(() => stack().app.events.openStreams >= before + listeners.length);

  expect(offer.warnings.join(" ")).toMatch(/binds no currency.*cannot be cancelled/);
  expect(order.warnings.join(" ")).toMatch(/cannot be cancelled/);
  const check = `query ($order: MarketOrderInput!, $signature: Hex!) {
    checkMarketOrder(order: $order, signature: $signature) { hash signer valid problems { refusal text } } }`;
  const asked = { order: order.input, signature: order.signature };
  expect((await query(check, asked)).checkMarketOrder).toMatchObject({
    hash: order.hash,
    signer: seller.address,
    valid: false,
    problems: [{ refusal: expect.stringMatching(/^ERC721InsufficientApproval/) }],
  });
  const { approval } = await query(`{ approval: prepareMarketApproval(tokenId: "${tokenId}") ${PREPARED} }`);
  await sendPrepared(rpcUrl, seller, approval);
  expect((await query(check, asked)).checkMarketOrder).toMatchObject({ valid: true, problems: [] });

  const proofs = await agentProofs(data, { to: buyer, sealedKeys: ["0xabcd"] });
  const { prepareFulfillOrder } = await query(MATCH, matchOf(sale, proofs));
  expect(prepareFulfillOrder).toMatchObject({ to: contractAddresses().agentMarket, value: PRICE });
  await sendPrepared(rpcUrl, buyer, prepareFulfillOrder);
  await until(() => listeners.every(({ results }) => results.length === 1));
  for (const { results } of listeners)
    expect(results[0]?.data.orderFulfilled).toMatchObject({
      removed: false,
      price: PRICE,
      currency: null,
      seller: { address: seller.address },
      buyer: { address: buyer.address },
    });
  await Promise.all(listeners.map(({ stop }) => stop()));

  const { market } = await query(`{ market {
    address tokenContract feeRate paused
    fills(filter: { tokenId: "${tokenId}" }) { nodes { price fee feeRate seller { address } token { owner { address } } } } } }`);
  expect(market).toMatchObject({
    address: contractAddresses().agentMarket,
    tokenContract: contractAddresses().agentNft,
    feeRate: 250,
    paused: false,
    fills: { nodes: [{ price: PRICE, fee: "25000", feeRate: 250, seller: { address: seller.address } }] },
  });
  await until(async () => {
    const held = await query(
      `{ agentToken(contract: "${contractAddresses().agentNft}", tokenId: "${tokenId}") { owner { address } movedWithoutKey
         sealedKeys { nodes { to { address } } } } }`,
    );
    expect(held.agentToken).toMatchObject({
      owner: { address: buyer.address },
      movedWithoutKey: false,
      sealedKeys: { nodes: [{ to: { address: buyer.address } }] },
    });
  });
});

test("a contract's refusal is returned by name with its reason, and the code contract_refused", async () => {
  const { rpcUrl } = stack();
  const sale = await newSale();
  const proofs = await agentProofs(sale.data, { to: sale.buyer });
  const { errors } = await ask(stack().origin, undefined, MATCH, matchOf(sale, proofs));
  expect(errors?.[0]).toMatchObject({
    message: expect.stringMatching(/^ERC721InsufficientApproval\(.*prepareMarketApproval/),
    extensions: { code: "contract_refused" },
  });
  const { approval } = await query(
    `{ approval: prepareMarketApproval(tokenId: "${sale.tokenId}") ${PREPARED} }`,
  );
  await sendPrepared(rpcUrl, sale.seller, approval);
  const forged = { ...matchOf(sale, proofs), orderSignature: sale.offer.signature };
  const refused = await ask(stack().origin, undefined, MATCH, forged);
  expect(refused.errors?.[0]?.message).toMatch(/^NFT owner mismatch: /);
});

test("an account's balance in the market is deposited, listed and withdrawn, and is separate from the router's", async () => {
  const { rpcUrl } = stack();
  const trader = await newTrader(rpcUrl);
  const account = trader.address;
  const { paid } = await query(
    `{ paid: prepareMarketDeposit(account: "${account}", amount: "7") ${PREPARED} }`,
  );
  expect(paid.warnings).toEqual([expect.stringContaining("an offer signed by the account")]);
  await sendPrepared(rpcUrl, trader, paid);
  const { taken } = await query(
    `{ taken: prepareMarketWithdrawal(account: "${account}", amount: "3") ${PREPARED} }`,
  );
  await sendPrepared(rpcUrl, trader, taken);
  const { market } = await query(`{ market { balance(account: "${account}") feeBalance } }`);
  expect(market.balance).toBe("4");
  const [router] = await stack().app.balances.byAccounts([lowerHex(account)]);
  expect(router?.available ?? 0n).toBe(0n);
  await until(async () => {
    const { rows } = await stack().app.market.moves(lowerHex(account), { first: 5 });
    expect(rows.map(({ kind }) => kind)).toEqual(["withdrawn", "deposited"]);
  });
});
