import { setTimeout as sleep } from "node:timers/promises";
import { z } from "zod";
import type { Clock } from "../../kernel/clock.ts";
import type { Logger } from "../../kernel/log.ts";
import type { Hex } from "../../kernel/text/hex.ts";
import { NodeFailure, type NodeRpc } from "./node-rpc.client.ts";
import { isShard, type Shard } from "./shards.ts";

/** A storage node that was configured or discovered. */
export type KnownNode = Shard & {
  readonly url: string;
  /** The operator or an indexer vouches for it: its word on files counts. Others are only read from, and verified. */
  readonly isTrusted: boolean;
  /** The operator named it himself, so that it may be anywhere. */
  readonly isOwn: boolean;
};

type Dependencies = {
  readonly rpc: NodeRpc;
  readonly indexers: readonly string[];
  readonly nodes: readonly string[];
  readonly clock: Clock;
  readonly log: Logger;
};

const REFRESH_MS = 60_000;
const RETRY_MS = 2_000;
const ASK_MS = 5_000;
/** How long the others are waited for once one has answered. */
const PATIENCE_MS = 500;
/** Nodes that one indexer may name; the network has some dozens. */
const MAX_NAMED = 256;
/** How long a node that failed is asked last, and one that lied. */
const COOL_DOWN_MS = 10_000;
const LIAR_MS = 600_000;
const SMOOTHING = 0.3;
const UNKNOWN_LATENCY_MS = 200;

const shardOf = z.object({ shardId: z.number(), numShard: z.number() }).refine(isShard);
const named = z.array(z.object({ url: z.url().max(512), config: shardOf })).max(MAX_NAMED);
const shardedNodes = z.object({
  trusted: named.nullish().transform((list) => list ?? []),
  discovered: named.nullish().transform((list) => list ?? []),
});

type Conduct = { latencyMs: number; coolUntilMs: number };

/**
 * The nodes of the network: those that indexers name and those of the configuration, asked anew every minute, and how
 * each of them fares as this process sees it. Known nodes are kept while none answers.
 */
export class KnownNodes {
  readonly #dependencies: Dependencies;
  readonly #bySource = new Map<string, readonly KnownNode[]>();
  readonly #records = new Map<string, Conduct>();
  #refreshed: Promise<void> | undefined;
  #nextRefreshMs = 0;
  #hasBegun = false;

  constructor(dependencies: Dependencies) {
    this.#dependencies = dependencies;
  }

  /** All nodes, the best first: healthy, trusted, quick. Waits for answers in the beginning only. */
  async all(): Promise<readonly KnownNode[]> {
    const now = this.#dependencies.clock.monotonicMs();
    if (now >= this.#nextRefreshMs) this.refresh();
    if (!this.#hasBegun || this.#bySource.size === 0) await this.#refreshed;
    this.#hasBegun = true;
    const byUrl = new Map<string, KnownNode>();
    for (const node of [...this.#bySource.values()].flat()) {
      const other = byUrl.get(node.url);
      if (!other || (node.isTrusted && !other.isTrusted)) byUrl.set(node.url, node);
    }
    return this.ordered([...byUrl.values()]);
  }

  /** Nodes that indexers know to have a file; none when no indexer answers. Their word on it does not count. */
  async locate(root: Hex): Promise<readonly KnownNode[]> {
    const { rpc, indexers } = this.#dependencies;
    const answers = await Promise.all(
      indexers.map(async (url) => {
        const params = { timeoutMs: ASK_MS, isOwn: true };
        const answer = await rpc.call(url, "indexer_getFileLocations", [root], params).catch(() => []);
        return named.safeParse(answer ?? []).data ?? [];
      }),
    );
    return this.ordered(
      answers
        .flat()
        .map(({ url, config }) => ({ url, ...config, isTrusted: false, isOwn: false }) satisfies KnownNode),
    );
  }

  /** The same nodes, the best first. */
  ordered(nodes: readonly KnownNode[]): readonly KnownNode[] {
    const now = this.#dependencies.clock.monotonicMs();
    const isCooling = ({ url }: KnownNode) => (this.#records.get(url)?.coolUntilMs ?? 0) > now;
    return [...nodes].sort(
      (a, b) =>
        Number(isCooling(a)) - Number(isCooling(b)) ||
        Number(b.isTrusted) - Number(a.isTrusted) ||
        this.latencyMs(a) - this.latencyMs(b),
    );
  }

  /** How long it takes to answer, smoothed. */
  latencyMs({ url }: KnownNode): number {
    return this.#records.get(url)?.latencyMs ?? UNKNOWN_LATENCY_MS;
  }

  /** Runs a call to a node and remembers how it went. */
  async asking<T>(node: KnownNode, ask: () => Promise<T>): Promise<T> {
    const { clock, log } = this.#dependencies;
    const startedMs = clock.monotonicMs();
    try {
      const answer = await ask();
      const before = this.latencyMs(node);
      const latencyMs = before + SMOOTHING * (clock.monotonicMs() - startedMs - before);
      this.#records.set(node.url, { latencyMs, coolUntilMs: 0 });
      return answer;
    } catch (error) {
      if (error instanceof NodeFailure && error.kind !== "refused") {
        const coolMs = error.kind === "lied" ? LIAR_MS : COOL_DOWN_MS;
        const latencyMs = this.latencyMs(node);
        this.#records.set(node.url, { latencyMs, coolUntilMs: clock.monotonicMs() + coolMs });
        if (error.kind === "lied") log.warn({ err: error, node: node.url }, "a storage node lied");
        else log.debug({ err: error, node: node.url }, "a storage node failed");
      }
      throw error;
    }
  }

  /** Asks everybody anew, unless that is under way. */
  refresh(): void {
    this.#nextRefreshMs = this.#dependencies.clock.monotonicMs() + REFRESH_MS;
    const { indexers, nodes } = this.#dependencies;
    const asked = [
      ...indexers.map((url) => this.#ask(url, () => this.#askIndexer(url))),
      ...nodes.map((url) => this.#ask(url, () => this.#askNode(url))),
    ];
    const all = Promise.allSettled(asked);
    const first = Promise.any(asked);
    // A silent indexer delays callers no longer than this.
    this.#refreshed = Promise.race([
      all,
      first.then(() => sleep(PATIENCE_MS, undefined, { ref: false })),
    ]).then(
      () => {},
      () => {},
    );
    first.catch(() => {
      this.#nextRefreshMs = this.#dependencies.clock.monotonicMs() + RETRY_MS;
    });
    void all.then(() => this.#forgetOld());
  }

  async #ask(url: string, ask: () => Promise<readonly KnownNode[]>): Promise<void> {
    try {
      this.#bySource.set(url, await ask());
    } catch (error) {
      this.#dependencies.log.warn({ err: error, url }, "storage nodes could not be listed");
      throw error;
    }
  }

  async #askIndexer(url: string): Promise<readonly KnownNode[]> {
    const answer = await this.#dependencies.rpc.call(url, "indexer_getShardedNodes", [], {
      timeoutMs: ASK_MS,
      isOwn: true,
    });
    const { trusted, discovered } = shardedNodes.parse(answer);
    const toNode = (isTrusted: boolean) => (node: (typeof trusted)[number]) => ({
      url: node.url,
      ...node.config,
      isTrusted,
      isOwn: false,
    });
    return [...trusted.map(toNode(true)), ...discovered.map(toNode(false))];
  }

  async #askNode(url: string): Promise<readonly KnownNode[]> {
    const answer = await this.#dependencies.rpc.call(url, "zgs_getShardConfig", [], {
      timeoutMs: ASK_MS,
      isOwn: true,
    });
    return [{ url, ...shardOf.parse(answer), isTrusted: true, isOwn: true }];
  }

  #forgetOld(): void {
    const urls = new Set([...this.#bySource.values()].flat().map(({ url }) => url));
    for (const url of this.#records.keys()) if (!urls.has(url)) this.#records.delete(url);
  }
}
