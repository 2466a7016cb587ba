import { zeroAddress } from "viem";
import type { Queries } from "../../db/database.ts";
import type { EventStream } from "../../events/bus.ts";
import type { EventsService } from "../../events/events.service.ts";
import { filterStream } from "../../events/filtered-stream.ts";
import type { Clock } from "../../kernel/clock.ts";
import type { Page, PageRequest } from "../../kernel/page.ts";
import { type Hex, lowerHex } from "../../kernel/text/hex.ts";
import { memoizeFor } from "../memoize-for.ts";
import type { MarketClient, MarketTerms } from "./market.client.ts";
import {
  type FillFilter,
  latestToken,
  listFills,
  listMoves,
  type MarketKey,
  type MarketMove,
  type StoredFill,
} from "./market.store.ts";

/** The market as it is now. */
export type MarketState = MarketTerms & {
  readonly address: Hex;
  /** The contract of the tokens that it trades. */
  readonly token: Hex;
};

/** An order that was fulfilled, and what of its price was a fee; the rate is in hundredths of a percent. */
export type MarketFill = StoredFill & { readonly feeRate: number; readonly fee: bigint };

type Dependencies = {
  readonly client: MarketClient;
  readonly queries: Queries;
  readonly events: EventsService;
  readonly chainId: number;
  readonly clock: Clock;
};

const TERMS_KEPT_MS = 2_000;
/** Rates are in parts of this. */
const WHOLE = 10_000n;

/**
 * Reads the market of agent tokens: from the chain what is so now, and from its events what has happened. Throws what
 * `MarketClient` throws. Public, as the chain is.
 */
export class MarketService {
  readonly #dependencies: Dependencies;
  readonly #terms: () => Promise<MarketTerms>;

  constructor(dependencies: Dependencies) {
    this.#dependencies = dependencies;
    this.#terms = memoizeFor(dependencies.clock, TERMS_KEPT_MS, () => dependencies.client.terms());
  }

  /** Its terms are at most 2 s old. */
  async state(): Promise<MarketState> {
    const { address } = this.#key().contract;
    const [terms, token] = await Promise.all([this.#terms(), this.token()]);
    return { ...terms, address, token };
  }

  /** The contract of the tokens that it trades: as it last told, or as it is configured. */
  async token(): Promise<Hex> {
    const key = this.#key();
    return (await latestToken(this.#dependencies.queries, key)) ?? key.contract.token;
  }

  /** What an account has in the market, neuron: buyers may pay from it. */
  balanceOf(account: Hex): Promise<bigint> {
    return this.#dependencies.client.read("getBalance", [account]);
  }

  /** The platform's fees that wait, in the smallest unit of a currency; null is the network's token. */
  feeBalance(currency: Hex | null): Promise<bigint> {
    return this.#dependencies.client.read("getFeeBalance", [currency ?? zeroAddress]);
  }

  /** A partner's share of the fees on tokens that it created, in hundredths of a percent. */
  async partnerRate(partner: Hex): Promise<number> {
    return Number(await this.#dependencies.client.read("getPartnerFeeRate", [partner]));
  }

  /** A partner's fees that wait, in the smallest unit of a currency. */
  partnerFeeBalance(partner: Hex, currency: Hex | null): Promise<bigint> {
    return this.#dependencies.client.read("getPartnerFeeBalance", [partner, currency ?? zeroAddress]);
  }

  /** Orders that were fulfilled, newest first: a token's, an account's as seller or buyer, or all. */
  async fills(filter: FillFilter, page: PageRequest): Promise<Page<MarketFill>> {
    const lowered = { tokenId: filter.tokenId, account: filter.account && lowerHex(filter.account) };
    const found = await listFills(this.#dependencies.queries, this.#key(), lowered, page);
    // Where no event ever told of a rate, it is still the one that it began with.
    const isKnown = found.rows.every(({ feeRate }) => feeRate !== undefined);
    const current = isKnown ? 0 : (await this.#terms()).feeRate;
    return { ...found, rows: found.rows.map((fill) => toFill(fill, current)) };
  }

  /** What moved an account's balance in the market, newest first. What was bought from it is among the fills. */
  async moves(account: Hex, page: PageRequest): Promise<Page<MarketMove>> {
    return listMoves(this.#dependencies.queries, this.#key(), lowerHex(account), page);
  }

  /**
   * Every order that is fulfilled, from now on or behind a cursor, and again as `removed` when a reorganisation takes it
   * back. Throws what `EventsService.follow` throws.
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

function toFill(fill: StoredFill, currentRate: number): MarketFill {
  const feeRate = fill.feeRate ?? currentRate;
  return { ...fill, feeRate, fee: (fill.price * BigInt(feeRate)) / WHOLE };
}
