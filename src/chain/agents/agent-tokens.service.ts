import type { PublicClient } from "viem";
import type { Queries } from "../../db/database.ts";
import type { Clock } from "../../kernel/clock.ts";
import { type Page, type PageRequest, toPage } from "../../kernel/page.ts";
import { type Hex, lowerHex } from "../../kernel/text/hex.ts";
import { agentNftAbi } from "../abi/agent-nft.ts";
import { contractError } from "../rpc/contract-error.ts";
import type { AgentContract } from "./agent-contracts.ts";
import type { AgentGeneration } from "./agent-event.ts";
import {
  type Authorization,
  listAuthorizations,
  listClones,
  listTransfers,
  type TokenClone,
  type TokenTransfer,
} from "./agent-history.store.ts";
import {
  type Delegation,
  findDelegations,
  findTokens,
  findUsers,
  listTokens,
  type StoredToken,
} from "./agent-tokens.store.ts";
import type { TokenKey } from "./token-rows.ts";

export type { Authorization, TokenClone, TokenTransfer } from "./agent-history.store.ts";
export type { Delegation } from "./agent-tokens.store.ts";
export type { TokenKey } from "./token-rows.ts";

/** An agent token as it stands, as far as the chain was read. */
export type AgentToken = StoredToken & { readonly generation: AgentGeneration };

type Dependencies = {
  readonly queries: Queries;
  readonly client: PublicClient;
  readonly chainId: number;
  readonly contracts: readonly AgentContract[];
  readonly clock: Clock;
};

const VERIFIER_FRESH_MS = 10_000;

/** Finds agent tokens and what became of them. All of it is public, as the chain is. */
export class AgentTokensService {
  readonly #dependencies: Dependencies;
  readonly #contracts: ReadonlyMap<Hex, AgentContract>;
  readonly #verifiers = new Map<Hex, { readonly address: Promise<Hex>; readonly askedMs: number }>();

  constructor(dependencies: Dependencies) {
    this.#dependencies = dependencies;
    this.#contracts = new Map(dependencies.contracts.map((contract) => [contract.address, contract]));
  }

  /** The contracts that are read. */
  contracts(): readonly AgentContract[] {
    return this.#dependencies.contracts;
  }

  /** For each key, in their order, its token; undefined for one that was never minted, or whose contract is not read. */
  async byKeys(keys: readonly TokenKey[]): Promise<readonly (AgentToken | undefined)[]> {
    const found = await findTokens(this.#dependencies.queries, this.#dependencies.chainId, keys.map(lower));
    const tokens = new Map(found.map((token) => [nameOf(token), this.#withGeneration(token)]));
    return keys.map((key) => tokens.get(nameOf(lower(key))));
  }

  /** Tokens that have an owner, the most recently acquired first. */
  async list(
    filter: { readonly contract?: Hex | undefined; readonly owner?: Hex | undefined },
    page: PageRequest,
  ): Promise<Page<AgentToken>> {
    const { queries, chainId } = this.#dependencies;
    const rows = await listTokens(
      queries,
      chainId,
      {
        contract: filter.contract && lowerHex(filter.contract),
        owner: filter.owner && lowerHex(filter.owner),
      },
      page,
    );
    return toPage(
      rows.map((row) => this.#withGeneration(row)),
      page,
    );
  }

  /** For each token, in their order, who may use it now, in the order in which they were authorised. */
  async usersOf(keys: readonly TokenKey[]): Promise<readonly (readonly Hex[])[]> {
    const found = await findUsers(this.#dependencies.queries, this.#dependencies.chainId, keys.map(lower));
    const users = Map.groupBy(found, nameOf);
    return keys.map((key) => users.get(nameOf(lower(key)))?.map(({ user }) => user) ?? []);
  }

  /** For each user, in their order, the delegates that may sign access proofs, by contract. */
  async delegationsOf(users: readonly Hex[]): Promise<readonly (readonly Delegation[])[]> {
    const found = await findDelegations(
      this.#dependencies.queries,
      this.#dependencies.chainId,
      users.map(lowerHex),
    );
    const delegations = Map.groupBy(found, ({ user }) => user);
    return users.map((user) => delegations.get(lowerHex(user)) ?? []);
  }

  /** A token's moves, newest first. */
  async transfers(key: TokenKey, page: PageRequest): Promise<Page<TokenTransfer>> {
    return toPage(
      await listTransfers(this.#dependencies.queries, this.#dependencies.chainId, lower(key), page),
      page,
    );
  }

  /** Who was ever authorised to use a token, and until when, newest first. */
  async authorizations(key: TokenKey, page: PageRequest): Promise<Page<Authorization>> {
    return toPage(
      await listAuthorizations(this.#dependencies.queries, this.#dependencies.chainId, lower(key), page),
      page,
    );
  }

  /** What was cloned from a token, newest first. */
  async clones(key: TokenKey, page: PageRequest): Promise<Page<TokenClone>> {
    return toPage(
      await listClones(this.#dependencies.queries, this.#dependencies.chainId, lower(key), page),
      page,
    );
  }

  /** The contract that judges proofs for this one, as the chain says, at most 10 s old. Throws `chain_error`. */
  verifierOf(contract: Hex): Promise<Hex> {
    const address = lowerHex(contract);
    const { client, clock } = this.#dependencies;
    const known = this.#verifiers.get(address);
    if (known && clock.monotonicMs() - known.askedMs < VERIFIER_FRESH_MS) return known.address;
    const asked = client
      .readContract({ address, abi: agentNftAbi, functionName: "verifier" })
      .then(lowerHex)
      .catch((cause: unknown) => {
        this.#verifiers.delete(address);
        throw contractError("the contract's verifier", cause);
      });
    // Only contracts of the configuration get here by way of tokens, so this map stays small.
    if (this.#contracts.has(address))
      this.#verifiers.set(address, { address: asked, askedMs: clock.monotonicMs() });
    return asked;
  }

  #withGeneration(token: StoredToken): AgentToken {
    return { ...token, generation: this.#contracts.get(token.contract)?.generation ?? "agent-nft" };
  }
}

/** What stands for a token in a map. */
function nameOf({ contract, tokenId }: TokenKey): string {
  return `${contract}:${tokenId}`;
}

function lower({ contract, tokenId }: TokenKey): TokenKey {
  return { contract: lowerHex(contract), tokenId };
}
