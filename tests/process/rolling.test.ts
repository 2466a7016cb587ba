// @module-tag large
import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import { LedgerService } from "../../src/accounts/ledger.service.ts";
import { MODEL } from "../support/chain/network.ts";
import { ask } from "../support/clients/graph-client.ts";
import { until } from "../support/until.ts";
import { chat } from "./chat.ts";
import { ResumingFollower } from "./split/resuming-follower.ts";
import { type Customer, newCustomer, type SplitProduct, startSplitProduct } from "./split/split-product.ts";

const ends: (() => Promise<void>)[] = [];
const onEnd = (end: () => Promise<void>) => void ends.unshift(end);

/** `npm run test:kills`: it takes a processor for a minute, and combines what other tests show separately. */
const skipped = !process.env.KILLS || !inject("postgresUrl") || !inject("redisUrl");
if (process.env.KILLS && skipped) console.warn("!! NOT tested: this machine has no PostgreSQL or no Redis");

describe.skipIf(skipped)("every process is replaced under load", () => {
  let product: SplitProduct;
  let customer: Customer;
  beforeAll(async () => {
    product = await startSplitProduct(onEnd);
    customer = await newCustomer(product.database, 10_000_000n);
  });
  afterAll(async () => {
    for (const end of ends) await end();
  });

  test("no chat and no query fails, and subscribers receive every payment, once by its id", async () => {
    const load = startLoad(product, customer);
    const follower = await ResumingFollower.start(load.origins, customer.managementKey);
    await until(async () => load.chats() > 2 && follower.settlements().size > 0);
    for (const name of ["accounts", "inference", "storage", "chain"] as const) {
      const old = product.subgraphs.get(name);
      await product.startSubgraph(name);
      await load.more();
      expect((await old?.end("SIGTERM"))?.code).toBe(0);
      await load.more();
    }
    const { worker } = product;
    await product.startWorker();
    await worker.end("SIGTERM");
    await load.more();
    for (const at of [0, 1] as const) {
      const old = product.gateways[at];
      product.gateways[at] = await product.startGateway();
      // As a load balancer does it: the new one takes over before the old one is asked to end.
      load.origins[at] = product.gateways[at].origin;
      await load.more();
      expect((await old.end("SIGTERM")).code).toBe(0);
    }
    await load.stop();
    console.log(`${load.chats()} chats, ${load.queries()} queries`);
    expect(load.failures).toEqual([]);
    await until(() => follower.settlements().size === load.chats());
    await follower.stop();
    expect(await new LedgerService(product.database).verify()).toMatchObject({ faults: [], openHolds: 0 });
  });
});

type Failure = { readonly what: "chat" | "query"; readonly why: string };

/** One chat after the other, and one query after the other, alternating between both gateways. */
function startLoad(product: SplitProduct, { secret, managementKey }: Customer) {
  const origins: [string, string] = [product.gateways[0].origin, product.gateways[1].origin];
  const failures: Failure[] = [];
  const counts = { chat: 0, query: 0 };
  let isOver = false;
  const query = `{ viewer { account { balance { total } } } model(id: "${MODEL}") { id } network { head { number } } }`;
  const work = {
    async chat(origin: string) {
      const reply = await chat(origin, secret, { max_tokens: 2 });
      return reply.status === 200 ? undefined : `${reply.status} ${await reply.text()}`;
    },
    async query(origin: string) {
      const { status, errors } = await ask(origin, managementKey, query);
      return status === 200 && !errors ? undefined : `${status} ${JSON.stringify(errors)}`;
    },
  };
  const loop = async (what: "chat" | "query") => {
    for (let n = 0; !isOver; n++) {
      const why = await work[what](origins[n % 2 === 0 ? 0 : 1]).catch((error: unknown) => String(error));
      if (why === undefined) counts[what] += 1;
      else failures.push({ what, why });
    }
  };
  const loops = [loop("chat"), loop("query")];
  return {
    origins,
    failures,
    chats: () => counts.chat,
    queries: () => counts.query,
    /** Until some more of both were answered. */
    async more() {
      const [chats, queries] = [counts.chat, counts.query];
      await until(() => counts.chat > chats + 4 && counts.query > queries + 4);
    },
    async stop() {
      isOver = true;
      await Promise.all(loops);
    },
  };
}
