import type { Queries } from "../db/database.ts";
import type { Clock } from "../kernel/clock.ts";
import { StartupError } from "../kernel/errors.ts";
import { NETWORKS, type Network } from "./networks.ts";
import type { Rpc } from "./rpc/rpc.client.ts";
import type { EndpointStatus } from "./rpc/rpc-endpoint.ts";
import type { ChainBlock } from "./watcher/log-handler.ts";
import { readStatuses, type WatcherStatus } from "./watcher/log-watcher.store.ts";

type Dependencies = {
  readonly rpc: Rpc;
  readonly network: Network;
  readonly queries: Queries;
  readonly clock: Clock;
};

const HEAD_FRESH_MS = 1_000;
/** The contracts that deposits, routing and storage require. */
const REQUIRED_CONTRACTS = ["routerVault", "computeInference", "flow"] as const;

/** Nodes refuse greater heights, which have 64 bits with them, as malformed. */
const MAX_BLOCK = 2n ** 63n - 1n;

/** The served network: its parameters, its blocks, and the progress of each watcher. */
export class ChainService {
  readonly #dependencies: Dependencies;
  #head: { readonly block: Promise<ChainBlock>; readonly requestedMs: number } | undefined;

  constructor(dependencies: Dependencies) {
    this.#dependencies = dependencies;
  }

  /** The served network. */
  network(): Network {
    return this.#dependencies.network;
  }

  /** The served network, followed by the public ones. */
  networks(): readonly Network[] {
    const { network } = this.#dependencies;
    return [network, ...[NETWORKS.testnet, NETWORKS.mainnet].filter(({ id }) => id !== network.id)];
  }

  /** The newest block, at most 1 s old; concurrent callers share one request. Throws `chain_error`. */
  head(): Promise<ChainBlock> {
    const now = this.#dependencies.clock.monotonicMs();
    if (this.#head && now - this.#head.requestedMs < HEAD_FRESH_MS) return this.#head.block;
    const request = { block: this.#dependencies.rpc.head(), requestedMs: now };
    this.#head = request;
    request.block.catch(() => {
      if (this.#head === request) this.#head = undefined;
    });
    return request.block;
  }

  /** The block at a height, undefined if the chain has none. Throws `chain_error`. */
  async block(number: bigint): Promise<ChainBlock | undefined> {
    return number > MAX_BLOCK ? undefined : this.#dependencies.rpc.block(number);
  }

  /** The status of each RPC endpoint, in configured order, as this process sees it. */
  endpoints(): readonly EndpointStatus[] {
    return this.#dependencies.rpc.endpoints();
  }

  /** A short description of the RPC outage, undefined when every endpoint is ready. */
  outage(): string | undefined {
    const states = this.endpoints().map(({ state }) => state);
    const ready = states.filter((state) => state === "ready").length;
    if (ready === states.length) return undefined;
    if (ready > 0) return `${ready} of ${states.length} endpoints`;
    return states.includes("wrong_chain") ? "another chain" : "unreachable";
  }

  /**
   * Throws a `StartupError` on a chain that has none of the network's contracts, such as a fresh development chain. A
   * contract whose code cannot be read does not count as missing: an outage must not prevent startup.
   */
  async requireContracts(): Promise<void> {
    const { rpc, network } = this.#dependencies;
    const places = REQUIRED_CONTRACTS.flatMap((name) => {
      const { address } = network.contracts[name];
      return address ? [{ name, address }] : [];
    });
    const codes = await Promise.all(
      places.map(({ address }) => rpc.client.getCode({ address }).catch(() => "unknown" as const)),
    );
    if (places.length === 0 || codes.some((code) => code !== undefined)) return;
    const listed = places.map(({ name, address }) => `${name} at ${address}`).join(", ");
    const next = network.id === "devnet" ? " Leave RPC_URL out to start a chain that has them." : "";
    throw new StartupError(
      `RPC_URL: this chain has no contracts of NETWORK=${network.id}, such as ${listed}.${next}`,
    );
  }

  /** The last recorded status of each watcher, by name; the watcher may run in another process. */
  watchers(): Promise<ReadonlyMap<string, WatcherStatus>> {
    return readStatuses(this.#dependencies.queries);
  }
}
