import { formatBlock, type RpcBlock } from "viem";
import type { Clock } from "../../kernel/clock.ts";
import type { ChainBlock } from "../watcher/log-handler.ts";
import { toBlock } from "./chain-block.ts";
import type { RpcEndpoint } from "./rpc-endpoint.ts";

type Dependencies = {
  readonly endpoints: readonly RpcEndpoint[];
  readonly clock: Clock;
  readonly maxAgeMs: number;
};

const LATEST = { method: "eth_getBlockByNumber", params: ["latest", false] };
/** How often endpoints are compared, and how long one that lacks blocks is used after the others. */
const COMPARED_FOR_MS = 30_000;

/**
 * Reads the newest block. An endpoint that is stuck answers like any other, so an old block is compared with the newest
 * blocks of the other endpoints: while one of them has newer blocks, it is used instead.
 */
export class NewestHead {
  readonly #dependencies: Dependencies;
  #compareAtMs = Number.NEGATIVE_INFINITY;

  constructor(dependencies: Dependencies) {
    this.#dependencies = dependencies;
  }

  /** The newest block; `read` reads that of the endpoint in use. */
  async read(read: () => Promise<ChainBlock>): Promise<ChainBlock> {
    const { endpoints, clock } = this.#dependencies;
    const head = await read();
    const now = clock.monotonicMs();
    if (endpoints.length < 2 || now < this.#compareAtMs || !this.#isOld(head)) return head;
    this.#compareAtMs = now + COMPARED_FOR_MS;
    return this.#compare(head);
  }

  async #compare(head: ChainBlock): Promise<ChainBlock> {
    const { endpoints } = this.#dependencies;
    const heads = await Promise.all(endpoints.map((endpoint) => headOf(endpoint).catch(() => undefined)));
    const newest = heads.reduce(
      (best: ChainBlock, one) => (one && one.number > best.number ? one : best),
      head,
    );
    for (const [at, endpoint] of endpoints.entries()) {
      const own = heads[at];
      if (own && own.number < newest.number && this.#isOld(own))
        endpoint.postpone(COMPARED_FOR_MS, newest.number - own.number);
    }
    return newest;
  }

  #isOld({ timestamp }: ChainBlock): boolean {
    const { clock, maxAgeMs } = this.#dependencies;
    return clock.now().getTime() - timestamp.getTime() > maxAgeMs;
  }
}

async function headOf(endpoint: RpcEndpoint): Promise<ChainBlock> {
  return toBlock(formatBlock((await endpoint.request(LATEST)) as RpcBlock));
}
