import { setTimeout as sleep } from "node:timers/promises";
import { z } from "zod";
import type { Clock } from "../../../kernel/clock.ts";
import type { Logger } from "../../../kernel/log.ts";
import type { Hex } from "../../../kernel/text/hex.ts";
import { NodeFailure, type NodeRpc } from "./node-rpc.client.ts";
import { isShard, type Shard } from "./shards.ts";

/** A configured or discovered storage node. */
export type KnownNode = Shard & {
  readonly url: string;
  /** Vouched for by the operator or an indexer: its file info is believed. Others are only read from, and verified. */
  readonly isTrusted: boolean;
  /** Configured by the operator, so any address is allowed. */
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
const REQUEST_MS = 5_000;
/** How long to wait for the others once one has answered. */
const GRACE_MS = 500;
/** Maximum number of nodes in the list of one indexer; the network has some dozens. */
const MAX_NAMED = 256;
/** How long a node that failed is ranked last, and one that lied. */
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

type Conduct = { readonly latencyMs: number; readonly coolUntilMs: number; readonly lied: boolean };

/**
 * The nodes of the network: those listed by indexers and those of the configuration, refreshed every minute, with the
 * latency and failures that this process measured. The known nodes are retained while no source answers.
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

  /** All nodes, best first: healthy, trusted, fast. Waits for a refresh only until nodes are known. */
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

  /** Nodes that have a file according to indexers, as untrusted nodes; empty when no indexer answers. */
  async locate(root: Hex): Promise<readonly KnownNode[]> {
    const { rpc, indexers } = this.#dependencies;
    const answers = await Promise.all(
      indexers.map(async (url) => {
        const params = { timeoutMs: REQUEST_MS, isOwn: true };
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

  /** The given nodes, best first. */
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

  /** Whether a node has recently returned data that did not verify. */
  hasLied({ url }: KnownNode): boolean {
    const record = this.#records.get(url);
    if (!record?.lied) return false;
    return record.coolUntilMs > this.#dependencies.clock.monotonicMs();
  }

  /** Smoothed response time of a node. */
  latencyMs({ url }: KnownNode): number {
    return this.#records.get(url)?.latencyMs ?? UNKNOWN_LATENCY_MS;
  }

  /** Sends a request to a node and records its latency or failure. */
  async call<T>(node: KnownNode, send: () => Promise<T>): Promise<T> {
    const { clock, log } = this.#dependencies;
    const startedMs = clock.monotonicMs();
    try {
      const answer = await send();
      const before = this.latencyMs(node);
      const latencyMs = before + SMOOTHING * (clock.monotonicMs() - startedMs - before);
      // A node that lies about some bytes answers other requests, and returns other bytes intact.
      const { coolUntilMs, lied } = this.#lieOf(node);
      this.#records.set(node.url, { latencyMs, coolUntilMs, lied });
      return answer;
    } catch (error) {
      if (error instanceof NodeFailure && error.kind !== "refused") {
        const isLie = error.kind === "lied";
        const { lied, coolUntilMs } = this.#lieOf(node);
        this.#records.set(node.url, {
          latencyMs: this.latencyMs(node),
          coolUntilMs: Math.max(coolUntilMs, clock.monotonicMs() + (isLie ? LIAR_MS : COOL_DOWN_MS)),
          lied: lied || isLie,
        });
        if (isLie) log.warn({ err: error, node: node.url }, "a storage node lied");
        else log.debug({ err: error, node: node.url }, "a storage node failed");
      }
      throw error;
    }
  }

  /** What is remembered of a node's last lie, whatever it did since. */
  #lieOf(node: KnownNode): Pick<Conduct, "coolUntilMs" | "lied"> {
    const record = this.#records.get(node.url);
    return record && this.hasLied(node) ? record : { coolUntilMs: 0, lied: false };
  }

  /** Queries all sources again, in the background. */
  refresh(): void {
    this.#nextRefreshMs = this.#dependencies.clock.monotonicMs() + REFRESH_MS;
    const { indexers, nodes } = this.#dependencies;
    const requests = [
      ...indexers.map((url) => this.#update(url, () => this.#fetchFromIndexer(url))),
      ...nodes.map((url) => this.#update(url, () => this.#fetchNode(url))),
    ];
    const all = Promise.allSettled(requests);
    const first = Promise.any(requests);
    // A silent indexer delays callers no longer than this.
    this.#refreshed = Promise.race([all, first.then(() => sleep(GRACE_MS, undefined, { ref: false }))]).then(
      () => {},
      () => {},
    );
    first.catch(() => {
      this.#nextRefreshMs = this.#dependencies.clock.monotonicMs() + RETRY_MS;
    });
    void all.then(() => this.#forgetOld());
  }

  async #update(url: string, fetch: () => Promise<readonly KnownNode[]>): Promise<void> {
    try {
      this.#bySource.set(url, await fetch());
    } catch (error) {
      this.#dependencies.log.warn({ err: error, url }, "storage nodes could not be listed");
      throw error;
    }
  }

  async #fetchFromIndexer(url: string): Promise<readonly KnownNode[]> {
    const answer = await this.#dependencies.rpc.call(url, "indexer_getShardedNodes", [], {
      timeoutMs: REQUEST_MS,
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

  async #fetchNode(url: string): Promise<readonly KnownNode[]> {
    const answer = await this.#dependencies.rpc.call(url, "zgs_getShardConfig", [], {
      timeoutMs: REQUEST_MS,
      isOwn: true,
    });
    return [{ url, ...shardOf.parse(answer), isTrusted: true, isOwn: true }];
  }

  /** Nodes that are known only as the location of a file are forgotten once their failures no longer count. */
  #forgetOld(): void {
    const now = this.#dependencies.clock.monotonicMs();
    const urls = new Set([...this.#bySource.values()].flat().map(({ url }) => url));
    for (const [url, { coolUntilMs }] of this.#records)
      if (!urls.has(url) && coolUntilMs <= now) this.#records.delete(url);
  }
}
