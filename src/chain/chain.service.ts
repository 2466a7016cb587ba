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
/** The contracts without which nothing can be deposited, routed or stored. */
const REQUIRED_CONTRACTS = ["routerVault", "computeInference", "flow"] as const;

/** The network that we serve: its parameters, its blocks, and how far each watcher has read it. */
export class ChainService {
  readonly #dependencies: Dependencies;
  #head: { readonly block: Promise<ChainBlock>; readonly askedMs: number } | undefined;

  constructor(dependencies: Dependencies) {
    this.#dependencies = dependencies;
  }

  /** The network we serve. */
  network(): Network {
    return this.#dependencies.network;
  }

  /** The network we serve, and the public ones. */
  networks(): readonly Network[] {
    const { network } = this.#dependencies;
    return [network, ...[NETWORKS.testnet, NETWORKS.mainnet].filter(({ id }) => id !== network.id)];
  }

  /** The newest block, at most 1 s old; whoever asks meanwhile shares the answer. Throws `chain_error`. */
  head(): Promise<ChainBlock> {
    const now = this.#dependencies.clock.monotonicMs();
    if (this.#head && now - this.#head.askedMs < HEAD_FRESH_MS) return this.#head.block;
    const asked = { block: this.#dependencies.rpc.head(), askedMs: now };
    this.#head = asked;
    asked.block.catch(() => {
      if (this.#head === asked) this.#head = undefined;
    });
    return asked.block;
  }

  /** A block by its height, undefined if the chain has none there. Throws `chain_error`. */
  block(number: bigint): Promise<ChainBlock | undefined> {
    return this.#dependencies.rpc.block(number);
  }

  /** How the RPC endpoints fare, in their order, as this process sees them. */
  endpoints(): readonly EndpointStatus[] {
    return this.#dependencies.rpc.endpoints();
  }

  /** What is wrong with the RPC endpoints in a few words, undefined when all are well. */
  outage(): string | undefined {
    const states = this.endpoints().map(({ state }) => state);
    const ready = states.filter((state) => state === "ready").length;
    if (ready === states.length) return undefined;
    if (ready > 0) return `${ready} of ${states.length} endpoints`;
    return states.includes("wrong_chain") ? "another chain" : "unreachable";
  }

  /**
   * Throws a line for the operator on a chain that has none of the network's contracts, such as a fresh development
   * chain. Contracts that cannot be asked for are not missing: an outage must not keep the process from starting.
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

  /** How far each watcher is, by its name, as of its last word; it may run in another process. */
  watchers(): Promise<ReadonlyMap<string, WatcherStatus>> {
    return readStatuses(this.#dependencies.queries);
  }
}
