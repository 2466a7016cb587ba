import { zeroAddress } from "viem";
import type { RowCount } from "../../db/count-rows.ts";
import type { Queries } from "../../db/database.ts";
import type { EventStream } from "../../events/bus.ts";
import type { EventsService } from "../../events/events.service.ts";
import { filterStream } from "../../events/filtered-stream.ts";
import { memoizeFor } from "../../kernel/async/memoize-for.ts";
import type { Clock } from "../../kernel/clock.ts";
import type { Page, PageRequest } from "../../kernel/page.ts";
import { type Hex, lowerHex } from "../../kernel/text/hex.ts";
import type { MarketClient, MarketTerms } from "./market.client.ts";
import {
  countFills,
  countMoves,
  type FillFilter,
  latestToken,
  listFills,
  listMoves,
  type MarketKey,
  type MarketMove,
  type StoredFill,
} from "./market.store.ts";

/** The market's current state. */
export type MarketState = MarketTerms & {
  readonly address: Hex;
  /** The contract of the traded tokens. */
  readonly token: Hex;
};

/** A fulfilled order, and the fee that was part of its price; the rate is in hundredths of a percent. */
export type MarketFill = StoredFill & { readonly feeRate: number; readonly fee: bigint };

type Dependencies = {
  readonly client: MarketClient;
  readonly queries: Queries;
  readonly events: EventsService;
  readonly chainId: number;
  readonly clock: Clock;
};

const TERMS_TTL_MS = 2_000;
/** The denominator of rates. */
const RATE_DENOMINATOR = 10_000n;

/**
 * Reads the agent token market: current state from the chain, history from its stored events. Throws what
 * `MarketClient` throws. The data is public, as on the chain.
 */
export class MarketService {
  readonly #dependencies: Dependencies;
  readonly #terms: () => Promise<MarketTerms>;

  constructor(dependencies: Dependencies) {
    this.#dependencies = dependencies;
    this.#terms = memoizeFor(dependencies.clock, TERMS_TTL_MS, () => dependencies.client.terms());
  }

  /** The market's state; its terms are at most 2 s old. */
  async state(): Promise<MarketState> {
    const { address } = this.#key().contract;
    const [terms, token] = await Promise.all([this.#terms(), this.token()]);
    return { ...terms, address, token };
  }

  /** The contract of the traded tokens: from the market's latest event, by default from the configuration. */
  async token(): Promise<Hex> {
    const key = this.#key();
    return (await latestToken(this.#dependencies.queries, key)) ?? key.contract.token;
  }

  /** An account's balance in the market, neuron; buyers may pay from it. */
  balanceOf(account: Hex): Promise<bigint> {
    return this.#dependencies.client.read("getBalance", [account]);
  }

  /** The platform's fees to withdraw, in the smallest unit of a currency; null is the network's token. */
  feeBalance(currency: Hex | null): Promise<bigint> {
    return this.#dependencies.client.read("getFeeBalance", [currency ?? zeroAddress]);
  }

  /** A partner's share of the fees on tokens that it created, in hundredths of a percent. */
  async partnerRate(partner: Hex): Promise<number> {
    return Number(await this.#dependencies.client.read("getPartnerFeeRate", [partner]));
  }

  /** A partner's fees to withdraw, in the smallest unit of a currency. */
  partnerFeeBalance(partner: Hex, currency: Hex | null): Promise<bigint> {
    return this.#dependencies.client.read("getPartnerFeeBalance", [partner, currency ?? zeroAddress]);
  }

  /** Fulfilled orders, newest first: of a token, of an account as seller or buyer, or all. */
  async fills(filter: FillFilter, page: PageRequest): Promise<Page<MarketFill>> {
    const found = await listFills(this.#dependencies.queries, this.#key(), lowerFilter(filter), page);
    // If no event ever set the rate, the initial rate still applies.
    const isKnown = found.rows.every(({ feeRate }) => feeRate !== undefined);
    const current = isKnown ? 0 : (await this.#terms()).feeRate;
    return { ...found, rows: found.rows.map((fill) => toFill(fill, current)) };
  }

  /** How many orders that match a filter were fulfilled. */
  async countFills(filter: FillFilter): Promise<RowCount> {
    return countFills(this.#dependencies.queries, this.#key(), lowerFilter(filter));
  }

  /** Changes of an account's balance in the market, newest first. Purchases paid from it are listed by `fills`. */
  async moves(account: Hex, page: PageRequest): Promise<Page<MarketMove>> {
    return listMoves(this.#dependencies.queries, this.#key(), lowerHex(account), page);
  }

  /** How many times an account's balance in the market has changed. */
  async countMoves(account: Hex): Promise<RowCount> {
    return countMoves(this.#dependencies.queries, this.#key(), lowerHex(account));
  }

  /**
   * Every fulfilled order, from now on or after a cursor, and again as `removed` when a reorg reverts it. Throws what
   * `EventsService.follow` throws.
   */
  async follow(filter: FillFilter, after?: string): Promise<EventStream<"order.fulfilled">> {
    const { address } = this.#key().contract;
    const account = filter.account && lowerHex(filter.account);
    const tokenId = filter.tokenId?.toString();
    const stream = await this.#dependencies.events.follow({ topic: "order.fulfilled" }, after);
    return filterStream(
      stream,
      ({ data }) =>
        data.market === address &&
        (tokenId === undefined || data.tokenId === tokenId) &&
        (account === undefined || data.seller === account || data.buyer === account),
    );
  }

  #key(): MarketKey {
    return { chainId: this.#dependencies.chainId, contract: this.#dependencies.client.contract() };
  }
}

function lowerFilter({ tokenId, account }: FillFilter): FillFilter {
  return { tokenId, account: account && lowerHex(account) };
}

function toFill(fill: StoredFill, currentRate: number): MarketFill {
  const feeRate = fill.feeRate ?? currentRate;
  return { ...fill, feeRate, fee: (fill.price * BigInt(feeRate)) / RATE_DENOMINATOR };
}
