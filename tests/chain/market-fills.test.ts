// @module-tag large
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import type { Database } from "../../src/db/database.ts";
import { DEMO_USER } from "../../src/devnet/chain/accounts.ts";
import { type Anvil, startAnvil } from "../../src/devnet/chain/anvil.ts";
import { deployContracts } from "../../src/devnet/chain/deploy.ts";
import { type Hex, lowerHex } from "../../src/kernel/text/hex.ts";
import {
  adminOfMarket,
  MARKET,
  makeMatch,
  openMarket,
  PRICE,
  sendPrepared,
  testClient,
} from "../support/chain/market.ts";
import { describeDatabases, openTestDatabase } from "../support/servers/database.ts";
import { until } from "../support/until.ts";

const FEE = 25_000n;
type Reorg = { Method: "anvil_reorg"; Parameters: [number, never[]]; ReturnType: null };

let anvil: Anvil;
beforeAll(async () => {
  anvil = await startAnvil();
  await deployContracts(anvil.url);
});
afterAll(() => anvil?.stop());

/** The market's services, which follow the chain until the test ends. */
function follow(database: Database) {
  const services = openMarket(anvil.url, database);
  services.watcher.start();
  onTestFinished(() => services.watcher.stop());
  const caughtUp = () =>
    until(
      async () => services.watcher.status().scannedBlock === (await testClient(anvil.url).getBlockNumber()),
    );
  return { ...services, caughtUp };
}

/** A match that was sent; resolves with its order, its offer and the hash of its transaction. */
async function trade(services: ReturnType<typeof openMarket>) {
  const made = await makeMatch(anvil.url, services);
  const hash = await sendPrepared(anvil.url, made.buyer, await services.deals.fulfill(made.match));
  return { ...made, hash };
}

async function fillEvents(
  database: Database,
  tokenId: bigint,
): Promise<readonly { removed: boolean; seller: string }[]> {
  const rows = await database.rows<{ data: string }>(
    "select data::text as data from outbox where topic = 'order.fulfilled' and subject = $1 order by id",
    [`${MARKET.token}:${tokenId}`],
  );
  return rows.map(({ data }) => JSON.parse(data));
}

describeDatabases("fills of the market", (kind) => {
  let database: Database;
  const ends: (() => Promise<void>)[] = [];
  beforeAll(async () => {
    database = await openTestDatabase(kind, { onEnd: (end) => void ends.unshift(end) });
  });
  afterAll(async () => {
    for (const end of ends) await end();
  });

  test("are read from its events with their fee, by token, seller and buyer, newest first", async () => {
    const services = follow(database);
    const first = await trade(services);
    const second = await trade(services);
    await services.caughtUp();
    const { market } = services;
    const fills = async (filter: { tokenId?: bigint; account?: Hex }) =>
      (await market.fills(filter, { first: 10 })).rows;
    const ofToken = await fills({ tokenId: first.tokenId });
    expect(ofToken).toMatchObject([
      {
        token: MARKET.token,
        tokenId: first.tokenId,
        seller: lowerHex(first.seller.address),
        buyer: lowerHex(first.buyer.address),
        price: PRICE,
        currency: null,
        feeRate: 250,
        fee: FEE,
        transactionHash: first.hash,
      },
    ]);
    expect(await fills({ account: first.seller.address })).toEqual(ofToken);
    expect(await fills({ account: first.buyer.address })).toEqual(ofToken);
    expect(await fills({ account: first.buyer.address, tokenId: second.tokenId })).toEqual([]);
    const page = await market.fills({}, { first: 1 });
    expect(page).toMatchObject({ hasNextPage: true, rows: [{ tokenId: second.tokenId }] });
    const rest = await market.fills({}, { first: 1, after: page.rows[0]?.cursor });
    expect(rest.rows).toMatchObject([{ tokenId: first.tokenId }]);
    await expect(market.fills({}, { first: 1, after: "WyJ4IiwieSJd" })).rejects.toMatchObject({
      code: "invalid_cursor",
    });
    expect(await fillEvents(database, first.tokenId)).toMatchObject([
      { market: MARKET.address, price: String(PRICE), currency: null, removed: false },
    ]);
  });

  test("keep the fee of their time when the rate changes", async () => {
    const services = follow(database);
    const before = await trade(services);
    await adminOfMarket(anvil.url, "setFeeRate", [1_000n]);
    const between = await trade(services);
    await adminOfMarket(anvil.url, "setFeeRate", [250n]);
    const after = await trade(services);
    await services.caughtUp();
    const rates = await Promise.all(
      [before, between, after].map(async ({ tokenId }) => {
        const { rows } = await services.market.fills({ tokenId }, { first: 1 });
        return [rows[0]?.feeRate, rows[0]?.fee];
      }),
    );
    expect(rates).toEqual([
      [250, FEE],
      [1_000, PRICE / 10n],
      [250, FEE],
    ]);
  });

  test("keep the token of their time when the market moves to another contract", async () => {
    const services = follow(database);
    const { tokenId } = await trade(services);
    const other = `0x${"12".repeat(20)}`;
    await adminOfMarket(anvil.url, "setAgentNFT", [other]);
    try {
      await services.caughtUp();
      expect(await services.market.state()).toMatchObject({ token: other });
      const { rows } = await services.market.fills({ tokenId }, { first: 1 });
      expect(rows[0]?.token).toBe(MARKET.token);
    } finally {
      await adminOfMarket(anvil.url, "setAgentNFT", [MARKET.token]);
    }
    await services.caughtUp();
    expect(await services.market.token()).toBe(MARKET.token);
  });

  test("are reverted with their blocks, and published so; in other blocks they are back", async () => {
    const services = follow(database);
    const { match, buyer, tokenId } = await trade(services);
    await services.caughtUp();
    expect((await services.market.fills({ tokenId }, { first: 1 })).rows).toHaveLength(1);
    const chain = testClient(anvil.url);
    await chain.request<Reorg>({ method: "anvil_reorg", params: [1, []] });
    await until(async () => (await fillEvents(database, tokenId)).length === 2);
    expect((await services.market.fills({ tokenId }, { first: 1 })).rows).toEqual([]);
    expect((await fillEvents(database, tokenId)).map(({ removed }) => removed)).toEqual([false, true]);
    // On the remaining chain, order and offer were never used.
    const hash = await sendPrepared(anvil.url, buyer, await services.deals.fulfill(match));
    await services.caughtUp();
    expect((await services.market.fills({ tokenId }, { first: 2 })).rows).toMatchObject([
      { transactionHash: hash },
    ]);
    expect((await fillEvents(database, tokenId)).map(({ removed }) => removed)).toEqual([false, true, false]);
  });

  test("balance changes are listed too: deposits with the new balance, withdrawals with their amount", async () => {
    const services = follow(database);
    const { seller } = await makeMatch(anvil.url, services, { approved: false });
    const { deals, market, caughtUp } = services;
    const deposit = (amount: bigint) =>
      deals.deposit({ account: seller.address, amount, from: seller.address });
    await sendPrepared(anvil.url, seller, await deposit(5n));
    await sendPrepared(anvil.url, seller, await deposit(6n));
    await sendPrepared(anvil.url, seller, await deals.withdraw({ account: seller.address, amount: 4n }));
    await caughtUp();
    const { rows } = await market.moves(seller.address, { first: 10 });
    expect(rows).toMatchObject([
      { kind: "withdrawn", amount: 4n, balance: null },
      { kind: "deposited", amount: null, balance: 11n },
      { kind: "deposited", amount: null, balance: 5n },
    ]);
    expect(await market.balanceOf(seller.address)).toBe(7n);
    const [another, after] = [lowerHex(DEMO_USER.address), rows[0]?.cursor];
    expect((await market.moves(another, { first: 10 })).rows).toEqual([]);
    expect((await market.moves(seller.address, { first: 10, after })).rows).toEqual(rows.slice(1));
    await expect(market.moves(another, { first: 10, after })).rejects.toMatchObject({
      code: "invalid_cursor",
    });
  });
});
