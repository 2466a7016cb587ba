import type { RowCount } from "../../../db/count-rows.ts";
import type { Queries } from "../../../db/database.ts";
import type { EventStream } from "../../../events/bus.ts";
import type { EventsService } from "../../../events/events.service.ts";
import { filterStream } from "../../../events/filtered-stream.ts";
import { type Page, type PageRequest, toPage } from "../../../kernel/page.ts";
import { type Hex, lowerHex } from "../../../kernel/text/hex.ts";
import { type AgentContract, configuredOf } from "../contracts/agent-contracts.ts";
import { tokenSubject } from "../log/agent-log.service.ts";
import type { SealedKey } from "./sealed-key.ts";
import {
  countSealedKeys,
  findSealedKeys,
  listSealedKeys,
  type SealedKeyFilter as StoredKeyFilter,
} from "./sealed-keys.store.ts";

/** Selects sealed keys of a receiver, a contract or a token. */
export type SealedKeyFilter = {
  readonly to?: Hex | undefined;
  readonly contract?: Hex | undefined;
  readonly tokenId?: bigint | undefined;
};

type Dependencies = {
  readonly queries: Queries;
  readonly events: EventsService;
  readonly chainId: number;
  readonly contracts: readonly AgentContract[];
};

/**
 * Keys sealed for receivers of agent tokens: an inbox, and its events. The data is public, as on the chain. Of a contract
 * that is no longer configured, keys may be stored that a reorg has reverted since: they are not listed.
 */
export class SealedKeysService {
  readonly #dependencies: Dependencies;

  constructor(dependencies: Dependencies) {
    this.#dependencies = dependencies;
  }

  /** Sealed keys that are not reverted, newest first: of a receiver, a contract or a token. */
  async list(filter: SealedKeyFilter, page: PageRequest): Promise<Page<SealedKey>> {
    const { queries, chainId } = this.#dependencies;
    return toPage(await listSealedKeys(queries, chainId, this.#select(filter), page), page);
  }

  /** How many sealed keys that are not reverted match a filter. */
  count(filter: SealedKeyFilter): Promise<RowCount> {
    return countSealedKeys(this.#dependencies.queries, this.#dependencies.chainId, this.#select(filter));
  }

  /** The sealed key of each id, in input order, including keys that a reorg reverted in the last day. */
  async byIds(ids: readonly string[]): Promise<readonly (SealedKey | undefined)[]> {
    const found = await findSealedKeys(this.#dependencies.queries, ids);
    const keys = new Map(found.map((key) => [key.id, key]));
    return ids.map((id) => keys.get(id));
  }

  /**
   * Every matching sealed key, from now on or after a cursor, and again as `removed` when a reorg reverts it. Throws
   * what `EventsService.follow` throws.
   */
  async follow(filter: SealedKeyFilter, after?: string): Promise<EventStream<"sealed-key.published">> {
    const subject = filter.to && lowerHex(filter.to);
    const stream = await this.#dependencies.events.follow({ topic: "sealed-key.published", subject }, after);
    const contract = filter.contract && lowerHex(filter.contract);
    const tokenId = filter.tokenId?.toString();
    if (contract === undefined && tokenId === undefined) return stream;
    return filterStream(
      stream,
      ({ data }) =>
        (contract === undefined || data.contract === contract) &&
        (tokenId === undefined || data.tokenId === tokenId),
    );
  }

  /** Every transfer of a token, of a contract's tokens, or of all tokens, with the same semantics as `follow`. */
  async followTransfers(
    filter: { readonly contract?: Hex | undefined; readonly tokenId?: bigint | undefined },
    after?: string,
  ): Promise<EventStream<"token.transferred">> {
    const contract = filter.contract && lowerHex(filter.contract);
    const { tokenId } = filter;
    const subject = contract && tokenId !== undefined ? tokenSubject(contract, tokenId) : undefined;
    const stream = await this.#dependencies.events.follow({ topic: "token.transferred", subject }, after);
    if (subject !== undefined || (contract === undefined && tokenId === undefined)) return stream;
    return filterStream(
      stream,
      ({ data }) =>
        (contract === undefined || data.contract === contract) &&
        (tokenId === undefined || data.tokenId === tokenId.toString()),
    );
  }

  #select({ to, contract, tokenId }: SealedKeyFilter): StoredKeyFilter {
    return {
      contracts: configuredOf(this.#dependencies.contracts, contract),
      to: to && lowerHex(to),
      tokenId,
    };
  }
}
