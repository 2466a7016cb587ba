import { createTestClient, erc20Abi, type LocalAccount, parseAbi, publicActions } from "viem";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import { agentMarketAbi } from "../../../src/chain/abi/agent-market.ts";
import { MarketClient } from "../../../src/chain/market/market.client.ts";
import { MarketService } from "../../../src/chain/market/market.service.ts";
import type { MarketContract } from "../../../src/chain/market/market-contract.ts";
import { MarketLogService } from "../../../src/chain/market/market-log.service.ts";
import { MarketOrdersService } from "../../../src/chain/market/market-orders.service.ts";
import {
  MarketTransactionsService,
  type Match,
} from "../../../src/chain/market/market-transactions.service.ts";
import type { MarketOffer, MarketOrder, TypedData } from "../../../src/chain/market/typed-data.ts";
import { createRpc } from "../../../src/chain/rpc/rpc.client.ts";
import type { PreparedTransaction } from "../../../src/chain/transactions/prepared-transaction.ts";
import { TransactionBuilder } from "../../../src/chain/transactions/transaction-builder.ts";
import { LogWatcher } from "../../../src/chain/watcher/log-watcher.ts";
import type { Database } from "../../../src/db/database.ts";
import { DEPLOYER } from "../../../src/devnet/chain/accounts.ts";
import { DEVNET_CHAIN_ID } from "../../../src/devnet/chain/anvil.ts";
import { connectDevnet, mined } from "../../../src/devnet/chain/chain-client.ts";
import { contractAddresses } from "../../../src/devnet/chain/deploy.ts";
import { MemoryBus } from "../../../src/events/bus.memory.ts";
import { EventsService } from "../../../src/events/events.service.ts";
import { systemClock } from "../../../src/kernel/clock.ts";
import { createLogger } from "../../../src/kernel/log.ts";
import { type Hex, lowerHex } from "../../../src/kernel/text/hex.ts";
import { TEST_CURSORS } from "../cursors.ts";
import { type AgentData, mintAgent, newData } from "./agents.ts";
import { patientTransport } from "./patient-transport.ts";

/** A funded wallet. */
export type Trader = LocalAccount & { readonly privateKey: Hex };

const devTokenAbi = parseAbi(["function mint(address to, uint256 amount)"]);
/** The market of the development network, as configured. */
export const MARKET = {
  address: lowerHex(contractAddresses().agentMarket),
  token: lowerHex(contractAddresses().agentNft),
  startBlock: undefined,
};
/** The default fields of orders and offers. */
export const PRICE = 1_000_000n;
const RICH_NEURON = 10n ** 21n;

/** A new wallet with 1,000 network tokens. */
export async function newTrader(rpcUrl: string): Promise<Trader> {
  const privateKey = generatePrivateKey();
  const account = privateKeyToAccount(privateKey);
  await testClient(rpcUrl).setBalance({ address: account.address, value: RICH_NEURON });
  return { ...account, privateKey };
}

/** The market's services over a database; null for no market. */
export function openMarket(rpcUrl: string, queries: Database, contract: MarketContract | null = MARKET) {
  const log = createLogger("silent");
  const rpc = createRpc({ urls: [rpcUrl], network: "devnet", chainId: DEVNET_CHAIN_ID, log });
  const client = new MarketClient(rpc.client, contract ?? undefined);
  const events = new EventsService(queries, new MemoryBus(), TEST_CURSORS);
  const shared = { client, chainId: DEVNET_CHAIN_ID };
  const market = new MarketService({ ...shared, queries, events, clock: systemClock });
  const orders = new MarketOrdersService({ ...shared, market });
  const transactions = new TransactionBuilder({ client: rpc.client, chainId: DEVNET_CHAIN_ID });
  const deals = new MarketTransactionsService({ transactions, client, market, orders });
  const watcher = new LogWatcher({
    name: "market",
    rpc,
    database: queries,
    startBlock: 0n,
    confirmations: 5,
    handlers: [new MarketLogService({ chainId: DEVNET_CHAIN_ID, contract: MARKET })],
    log,
    pollMs: 20,
  });
  return { market, orders, deals, watcher };
}

/** The differences from a valid match. */
export type MatchOptions = {
  readonly order?: Partial<MarketOrder>;
  readonly offer?: Partial<MarketOffer>;
  readonly data?: readonly AgentData[];
  readonly approved?: boolean;
};

/** A token of a new seller, on sale, and a new buyer's offer for it: both signed. */
export async function makeMatch(
  rpcUrl: string,
  { orders, deals }: Pick<ReturnType<typeof openMarket>, "orders" | "deals">,
  { order = {}, offer = {}, data = [newData()], approved = true }: MatchOptions = {},
) {
  const [seller, buyer] = [await newTrader(rpcUrl), await newTrader(rpcUrl)];
  const { tokenId } = await mintAgent(rpcUrl, { to: seller.address, data });
  if (approved) await sendPrepared(rpcUrl, seller, await deals.approveToken(tokenId));
  const expireTime = (await testClient(rpcUrl).getBlock()).timestamp + 3_600n;
  const asked = { tokenId, expectedPrice: PRICE, currency: null, expireTime, receiver: null, ...order };
  const offered = { tokenId, offerPrice: PRICE, expireTime, needProof: false, ...offer };
  const [toOrder, toOffer] = [await orders.order(asked), await orders.offer(offered)];
  const match: Match = {
    order: { ...asked, nonce: toOrder.nonce },
    orderSignature: await signTyped(seller, toOrder.typedData),
    offer: { ...offered, nonce: toOffer.nonce },
    offerSignature: await signTyped(buyer, toOffer.typedData),
    proofs: [],
    payment: "sent",
  };
  return { match, seller, buyer, tokenId, data };
}

/** Signs the typed data of the market's services, as a wallet does that receives it as JSON. */
export function signTyped(trader: Trader, typedData: TypedData): Promise<Hex> {
  const { domain, types, primaryType, message } = JSON.parse(JSON.stringify(typedData));
  return trader.signTypedData({ domain, types, primaryType, message });
}

/** Sends a prepared transaction from a wallet and waits for its block. */
export async function sendPrepared(
  rpcUrl: string,
  trader: Trader,
  { to, data, value }: Pick<PreparedTransaction, "to" | "data" | "value">,
): Promise<Hex> {
  const client = await connectDevnet(rpcUrl, trader.privateKey);
  return mined(client, await client.sendTransaction({ to, data, value: BigInt(value) }));
}

/** Calls one of the market's functions for its admin. */
export async function adminOfMarket(
  rpcUrl: string,
  functionName: "setAgentNFT" | "setFeeRate" | "setPartnerFeeRate" | "pause" | "unpause" | "withdrawFees",
  args: readonly unknown[],
): Promise<void> {
  const client = await connectDevnet(rpcUrl, DEPLOYER.privateKey);
  const call = { address: contractAddresses().agentMarket, abi: agentMarketAbi, functionName, args };
  await mined(
    client,
    await client.writeContract(call as unknown as Parameters<typeof client.writeContract>[0]),
  );
}

/** Gives a wallet so many development dollars, and approves the market to spend them. */
export async function giveDollars(rpcUrl: string, trader: Trader, amount: bigint): Promise<void> {
  const { devToken, agentMarket } = contractAddresses();
  const client = await connectDevnet(rpcUrl, trader.privateKey);
  const mint = { address: devToken, abi: devTokenAbi, functionName: "mint" } as const;
  await mined(client, await client.writeContract({ ...mint, args: [trader.address, amount] }));
  const approve = { address: devToken, abi: erc20Abi, functionName: "approve" } as const;
  await mined(client, await client.writeContract({ ...approve, args: [agentMarket, amount] }));
}

/** Reads the chain, and advances its time. */
export function testClient(rpcUrl: string) {
  return createTestClient({
    mode: "anvil",
    transport: patientTransport(rpcUrl),
    cacheTime: 0,
    pollingInterval: 10,
  }).extend(publicActions);
}
