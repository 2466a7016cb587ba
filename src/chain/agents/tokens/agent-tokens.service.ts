import type { PublicClient } from "viem";
import type { RowCount } from "../../../db/count-rows.ts";
import type { Queries } from "../../../db/database.ts";
import type { Clock } from "../../../kernel/clock.ts";
import { type Page, type PageRequest, toPage } from "../../../kernel/page.ts";
import { type Hex, lowerHex } from "../../../kernel/text/hex.ts";
import { agentNftAbi } from "../../abi/agent-nft.ts";
import { contractError } from "../../rpc/contract-error.ts";
import { type AgentContract, configuredOf } from "../contracts/agent-contracts.ts";
import type { AgentGeneration } from "../log/agent-event.ts";
import {
  type Authorization,
  listAuthorizations,
  listClones,
  listTransfers,
  type TokenClone,
  type TokenTransfer,
} from "./agent-history.store.ts";
import {
  countTokens,
  type Delegation,
  findDelegations,
  findTokens,
  findUsers,
  listTokens,
  type StoredToken,
  type TokenFilter as StoredTokenFilter,
} from "./agent-tokens.store.ts";
import { listTokenEvents, type TokenEvent } from "./token-events.store.ts";
import { orNull, type TokenKey } from "./token-rows.ts";

export type { Authorization, TokenClone, TokenTransfer } from "./agent-history.store.ts";
export type { Delegation } from "./agent-tokens.store.ts";
export type { TokenEvent } from "./token-events.store.ts";
export type { TokenKey } from "./token-rows.ts";

/** Filters tokens of the configured contracts; every condition must hold. */
export type TokenFilter = {
  readonly contract?: Hex | undefined;
  readonly owner?: Hex | undefined;
  readonly creator?: Hex | undefined;
};

/** The current state of an agent token, as far as the chain has been read. */
export type AgentToken = StoredToken & { readonly generation: AgentGeneration };

type Dependencies = {
  readonly queries: Queries;
  readonly client: PublicClient;
  readonly chainId: number;
  readonly contracts: readonly AgentContract[];
  readonly clock: Clock;
};

const VERIFIER_FRESH_MS = 10_000;

/**
 * Finds agent tokens and their history. All data is public, as on the chain. Of a contract that is no longer configured,
 * rows may be stored that nothing brings up to date: its tokens are not found.
 */
export class AgentTokensService {
  readonly #dependencies: Dependencies;
  readonly #contracts: ReadonlyMap<Hex, AgentContract>;
  readonly #verifiers = new Map<Hex, { readonly address: Promise<Hex>; readonly readMs: number }>();

  constructor(dependencies: Dependencies) {
    this.#dependencies = dependencies;
    this.#contracts = new Map(dependencies.contracts.map((contract) => [contract.address, contract]));
  }

  /** The configured contracts. */
  contracts(): readonly AgentContract[] {
    return this.#dependencies.contracts;
  }

  /** The token of each key, in input order; undefined if it was never minted or its contract is not configured. */
  async byKeys(keys: readonly TokenKey[]): Promise<readonly (AgentToken | undefined)[]> {
    const { queries, chainId } = this.#dependencies;
    const known = keys.map(lower).filter(({ contract }) => this.#contracts.has(contract));
    const found = known.length === 0 ? [] : await findTokens(queries, chainId, known);
    const tokens = new Map(found.map((token) => [nameOf(token), this.#withGeneration(token)]));
    return keys.map((key) => tokens.get(nameOf(lower(key))));
  }

  /** Tokens that have an owner and match a filter, the most recently acquired first. */
  async list(filter: TokenFilter, page: PageRequest): Promise<Page<AgentToken>> {
    const { queries, chainId } = this.#dependencies;
    const rows = await listTokens(queries, chainId, this.#select(filter), page);
    return toPage(
      rows.map((row) => this.#withGeneration(row)),
      page,
    );
  }

  /** How many tokens have an owner and match a filter. */
  count(filter: TokenFilter): Promise<RowCount> {
    return countTokens(this.#dependencies.queries, this.#dependencies.chainId, this.#select(filter));
  }

  /** For each token, in input order, the users who may use it now, in order of authorisation. */
  async usersOf(keys: readonly TokenKey[]): Promise<readonly (readonly Hex[])[]> {
    const found = await findUsers(this.#dependencies.queries, this.#dependencies.chainId, keys.map(lower));
    const users = Map.groupBy(found, nameOf);
    return keys.map((key) => users.get(nameOf(lower(key)))?.map(({ user }) => user) ?? []);
  }

  /** For each user, in input order, the delegates that may sign access proofs, by contract. */
  async delegationsOf(users: readonly Hex[]): Promise<readonly (readonly Delegation[])[]> {
    const found = await findDelegations(
      this.#dependencies.queries,
      this.#dependencies.chainId,
      users.map(lowerHex),
    );
    const present = found.filter(({ contract }) => this.#contracts.has(contract));
    const delegations = Map.groupBy(present, ({ user }) => user);
    return users.map((user) => delegations.get(lowerHex(user)) ?? []);
  }

  /** A token's transfers, newest first. */
  async transfers(key: TokenKey, page: PageRequest): Promise<Page<TokenTransfer>> {
    return toPage(
      await listTransfers(this.#dependencies.queries, this.#dependencies.chainId, lower(key), page),
      page,
    );
  }

  /** Every authorisation to use a token, including ended ones, newest first. */
  async authorizations(key: TokenKey, page: PageRequest): Promise<Page<Authorization>> {
    return toPage(
      await listAuthorizations(this.#dependencies.queries, this.#dependencies.chainId, lower(key), page),
      page,
    );
  }

  /** The clones of a token, newest first. */
  async clones(key: TokenKey, page: PageRequest): Promise<Page<TokenClone>> {
    return toPage(
      await listClones(this.#dependencies.queries, this.#dependencies.chainId, lower(key), page),
      page,
    );
  }

  /**
   * Everything that happened to a token, last indexed first, including what a reorg reverted in the last day. Nothing for
   * a token of a contract that is not configured.
   */
  async events(key: TokenKey, page: PageRequest): Promise<Page<TokenEvent>> {
    const { queries, chainId } = this.#dependencies;
    const rows = await listTokenEvents(queries, chainId, lower(key), page);
    return toPage(
      rows.filter(({ contract }) => this.#contracts.has(contract)),
      page,
    );
  }

  /**
   * The account that may transfer the token besides its owner (ERC-721), read from the chain; null if there is none.
   * Throws `chain_error`, and `contract_refused` for a token without an owner.
   */
  async approvedOf({ contract, tokenId }: TokenKey): Promise<Hex | null> {
    const call = {
      address: contract,
      abi: agentNftAbi,
      functionName: "getApproved",
      args: [tokenId],
    } as const;
    try {
      return orNull(lowerHex(await this.#dependencies.client.readContract(call)));
    } catch (cause) {
      throw contractError("the approved account", cause);
    }
  }

  /** The contract that verifies proofs for this one, read from the chain, at most 10 s old. Throws `chain_error`. */
  verifierOf(contract: Hex): Promise<Hex> {
    const address = lowerHex(contract);
    const { client, clock } = this.#dependencies;
    const known = this.#verifiers.get(address);
    if (known && clock.monotonicMs() - known.readMs < VERIFIER_FRESH_MS) return known.address;
    const verifier = client
      .readContract({ address, abi: agentNftAbi, functionName: "verifier" })
      .then(lowerHex)
      .catch((cause: unknown) => {
        this.#verifiers.delete(address);
        throw contractError("the contract's verifier", cause);
      });
    // Only configured contracts are cached, so this map stays small.
    if (this.#contracts.has(address))
      this.#verifiers.set(address, { address: verifier, readMs: clock.monotonicMs() });
    return verifier;
  }

  #select({ contract, owner, creator }: TokenFilter): StoredTokenFilter {
    return {
      contracts: configuredOf(this.#dependencies.contracts, contract),
      owner: owner && lowerHex(owner),
      creator: creator && lowerHex(creator),
    };
  }

  #withGeneration(token: StoredToken): AgentToken {
    return { ...token, generation: this.#contracts.get(token.contract)?.generation ?? "agent-nft" };
  }
}

/** The map key of a token. */
function nameOf({ contract, tokenId }: TokenKey): string {
  return `${contract}:${tokenId}`;
}

function lower({ contract, tokenId }: TokenKey): TokenKey {
  return { contract: lowerHex(contract), tokenId };
}
