import { decodeEventLog, toEventSelector, zeroAddress } from "viem";
import { type Hex, lowerHex } from "../../kernel/text/hex.ts";
import { agentMarketAbi } from "../abi/agent-market.ts";
import type { ChainLog } from "../watcher/log-handler.ts";

/** What is read of the market's logs. */
export type MarketEventKind =
  | "fulfilled"
  | "deposited"
  | "withdrawn"
  | "minted"
  | "fees-withdrawn"
  | "partner-fees-withdrawn"
  | "fee-rate-set"
  | "partner-rate-set"
  | "token-set";

/**
 * What a log of the market tells, in one shape for all of them. `account` is the seller, the depositor, the partner, the
 * admin, or the new token; `other` the buyer, who a token was minted for, or the old token. `amount` is a price, a new
 * balance (deposited), an amount or a new rate, `previous` an old rate. Without a currency it is the network's token.
 */
export type MarketEvent = {
  readonly kind: MarketEventKind;
  readonly account: Hex;
  readonly other?: Hex;
  readonly tokenId?: bigint;
  readonly amount?: bigint;
  readonly previous?: bigint;
  readonly currency?: Hex;
};

const READ = [
  "OrderFulfilled",
  "Deposit",
  "Withdraw",
  "PaidMinted",
  "FeesWithdrawn",
  "PartnerFeesWithdrawn",
  "FeeRateUpdated",
  "PartnerFeeRateUpdated",
  "AgentNFTUpdated",
] as const;

/** The first topics of the events that are read. */
export const MARKET_TOPICS: readonly Hex[] = agentMarketAbi
  .filter((item) => item.type === "event")
  .filter(({ name }) => READ.some((known) => known === name))
  .map((event) => toEventSelector(event));

/** Reads a log of one of these topics. Throws for one that is not laid out as its event is. */
export function readMarketLog({ topics, data }: ChainLog): MarketEvent {
  const { eventName, args } = decodeEventLog({
    abi: agentMarketAbi,
    topics: topics as [Hex, ...Hex[]],
    data,
  });
  switch (eventName) {
    case "OrderFulfilled":
      return {
        kind: "fulfilled",
        account: lowerHex(args.seller),
        other: lowerHex(args.buyer),
        tokenId: args.tokenId,
        amount: args.price,
        ...currencyOf(args.currency),
      };
    case "Deposit":
      return { kind: "deposited", account: lowerHex(args.account), amount: args.balance };
    case "Withdraw":
      return { kind: "withdrawn", account: lowerHex(args.account), amount: args.balance };
    case "PaidMinted":
      return {
        kind: "minted",
        account: lowerHex(args.from),
        other: lowerHex(args.to),
        tokenId: args.tokenId,
        amount: args.mintFee,
      };
    case "FeesWithdrawn":
      return {
        kind: "fees-withdrawn",
        account: lowerHex(args.admin),
        amount: args.amount,
        ...currencyOf(args.currency),
      };
    case "PartnerFeesWithdrawn":
      return {
        kind: "partner-fees-withdrawn",
        account: lowerHex(args.partner),
        amount: args.amount,
        ...currencyOf(args.currency),
      };
    case "FeeRateUpdated":
      return {
        kind: "fee-rate-set",
        account: zeroAddress,
        amount: args.newFeeRate,
        previous: args.oldFeeRate,
      };
    case "PartnerFeeRateUpdated":
      return {
        kind: "partner-rate-set",
        account: lowerHex(args.partner),
        amount: args.newRate,
        previous: args.oldRate,
      };
    case "AgentNFTUpdated":
      return { kind: "token-set", account: lowerHex(args.newAgentNFT), other: lowerHex(args.oldAgentNFT) };
    default:
      throw new Error(`${eventName} is no event that is read of the market`);
  }
}

function currencyOf(currency: Hex): { readonly currency?: Hex } {
  return currency === zeroAddress ? {} : { currency: lowerHex(currency) };
}
