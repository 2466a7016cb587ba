import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import { LedgerService } from "../../src/accounts/ledger.service.ts";
import type { Database } from "../../src/db/database.ts";
import { openDatabase } from "../../src/db/open.ts";
import { IMAGE_PROVIDER, ROUTER_WALLET } from "../../src/devnet/accounts.ts";
import { fundRouterWallet, registerProvider } from "../../src/devnet/actors.ts";
import type { OnEnd } from "../support/database.ts";
import { type Following, followEvents, followSocket } from "../support/graph-client.ts";
import { done, type JobBroker, startJobBroker, working } from "../support/job-broker.ts";
import { startNetwork } from "../support/network.ts";
import { newFolder, startReady } from "../support/process.ts";
import { rest } from "../support/rest-client.ts";
import { seedAccount } from "../support/seed.ts";
import { until } from "../support/until.ts";
import { newCustomer, type SplitProduct, startSplitProduct } from "./split-product.ts";

const MODEL = "test-images";
const PRICE = 100n;
const MONEY = 10_000n;
const ends: (() => Promise<void>)[] = [];
const onEnd: OnEnd = (end) => void ends.unshift(end);

afterAll(async () => {
  for (const end of ends) await end();
});

/** Registers a broker as the one provider of images, and pays it from the router's wallet. */
async function register(rpcUrl: string, { url }: JobBroker): Promise<void> {
  await registerProvider(rpcUrl, {
    providerKey: IMAGE_PROVIDER.privateKey,
    url,
    model: MODEL,
    inputPrice: 0n,
    outputPrice: PRICE,
    serviceType: "text-to-image",
    verifiability: "TeeML",
    additionalInfo: "{}",
    teeSigner: IMAGE_PROVIDER.address,
  });
  await fundRouterWallet(rpcUrl, { routerKey: ROUTER_WALLET.privateKey, provider: IMAGE_PROVIDER.address });
}

async function submit(origin: string, secret: string, prompt: string): Promise<string> {
  const body = { model: MODEL, prompt };
  const reply = await rest<{ jobId: string }>(origin, "/v1/async/images/generations", secret, { body });
  expect(reply.status, JSON.stringify(reply.body)).toBe(202);
  return reply.body.jobId;
}

async function statusOf(origin: string, secret: string, jobId: string): Promise<string> {
  return (await rest<{ status: string }>(origin, `/v1/async/jobs/${jobId}`, secret)).body.status;
}

/** That each of these jobs was paid for once, and that what was told of it never went back. */
async function requireOnce(database: Database, jobIds: readonly string[]): Promise<void> {
  for (const id of jobIds) {
    const [paid] = await database.rows<{ times: number; neuron: string }>(
      `select count(*)::int as times, sum(e.amount)::text as neuron
       from job j join ledger_entry e on e.transfer_id = 'settle:' || j.request_id and e.book = 'revenue'
       where j.id = $1::uuid`,
      [id],
    );
    expect(paid).toEqual({ times: 1, neuron: String(PRICE) });
    const steps = await database.rows<{ sequence: number; status: string }>(
      `select (data ->> 'sequence')::int as sequence, data ->> 'status' as status from outbox
       where topic = 'job.progressed' and data ->> 'jobId' = $1::text order by outbox.id`,
      [id],
    );
    expect(steps.map(({ sequence }) => sequence)).toEqual(steps.map((_, n) => n + 1));
    const order = steps.map(({ status }) => ["pending", "processing", "completed"].indexOf(status));
    expect(order).toEqual(order.toSorted((a, b) => a - b));
    expect(order.at(-1)).toBe(2);
  }
}

test("killed with a job at every step, the product ends all of them within 30 s of its return, each paid for once", async () => {
  const { rpcUrl } = await startNetwork(onEnd);
  const broker = await startJobBroker(onEnd);
  await register(rpcUrl, broker);
  const folder = newFolder(onEnd);
  const settings = { DATA_DIR: folder, RPC_URL: rpcUrl, JOBS_PARALLEL: "4" };
  const database = await openDatabase({ kind: "folder", path: folder });
  const { secret, account } = await seedAccount(database, MONEY);
  await database.close();
  const running = await startReady({ settings, onEnd });

  const promptOf = (body: Buffer) => (JSON.parse(body.toString()) as { prompt: string }).prompt;
  const seen = new Set<string>();
  let isKilled = false;
  broker.script = {
    // The request is with the provider, and no answer ever comes.
    submission: (n) => (n === 0 ? "silent" : undefined),
    poll(_, { body }) {
      const prompt = promptOf(body);
      seen.add(prompt);
      if (isKilled) return done();
      if (prompt === "unheard poll") return "silent";
      if (prompt === "under way") return working(0.5);
      // The result is on its way, and nothing of it is written.
      if (prompt === "has its result" && seen.size === 3) {
        isKilled = true;
        void running.end("SIGKILL");
        return done();
      }
      return working();
    },
  };
  const ids = [await submit(running.origin, secret, "sent, not answered")];
  await until(() => broker.submissions.length === 1);
  ids.push(await submit(running.origin, secret, "unheard poll"));
  ids.push(await submit(running.origin, secret, "under way"));
  ids.push(await submit(running.origin, secret, "has its result"));
  const waiting = submit(running.origin, secret, "waits for a worker").catch(() => undefined);
  expect((await running.ended).signal).toBe("SIGKILL");
  const fifth = await waiting;
  if (fifth) ids.push(fifth);

  const again = await startReady({ settings, onEnd });
  const readyMs = performance.now();
  await until(
    async () =>
      (await Promise.all(ids.map((id) => statusOf(again.origin, secret, id)))).every(
        (status) => status === "completed",
      ),
    45_000,
  );
  expect(performance.now() - readyMs).toBeLessThan(30_000);
  expect(await again.end("SIGTERM")).toEqual({ code: 0, signal: null });
  // Only the one whose answer was never heard may have been sent again.
  expect(broker.submissions).toHaveLength(ids.length + 1);
  const after = await openDatabase({ kind: "folder", path: folder });
  onEnd(() => after.close());
  await requireOnce(after, ids);
  expect(await new LedgerService(after).verify()).toMatchObject({ faults: [], openHolds: 0 });
  const [left] = await after.rows<{ deposit: string; held: string }>(
    "select deposit::text as deposit, held::text as held from account where address = $1::text",
    [account],
  );
  expect(left).toEqual({ deposit: `${MONEY - PRICE * BigInt(ids.length)}`, held: "0" });
});

const skipped = !inject("postgresUrl") || !inject("redisUrl");

describe.skipIf(skipped)("in several processes", () => {
  let product: SplitProduct;
  let broker: JobBroker;
  beforeAll(async () => {
    product = await startSplitProduct(onEnd);
    broker = await startJobBroker(onEnd);
    await register(product.rpcUrl, broker);
  });

  test("a killed worker's job goes on with another, and followers at every gateway are told all of it in order", async () => {
    const { secret } = await newCustomer(product.database, MONEY);
    const [first, second] = product.gateways.map(({ origin }) => origin) as [string, string];
    let isKilled = false;
    broker.script = { poll: () => (isKilled ? done() : working(0.5)) };
    // The offer is known to a process when it reads the chain again.
    const known = () =>
      Promise.all([first, second].map((origin) => rest<{ data: { id: string }[] }>(origin, "/v1/models")));
    await until(
      async () => (await known()).every(({ body }) => body.data.some(({ id }) => id === MODEL)),
      40_000,
    );
    const query = "subscription { imageJobsProgress { id jobId sequence status step } }";
    const followers: Following[] = [
      await followSocket(second, secret, query),
      await followEvents(first, secret, query),
    ];
    const id = await submit(first, secret, "the sea");
    await until(() => broker.polls > 1);
    await product.worker.end("SIGKILL");
    isKilled = true;
    const killedMs = performance.now();
    await product.startWorker();
    type Step = { sequence: number; status: string; step: string };
    const stepsOf = ({ results }: Following): Step[] => results.map(({ data }) => data.imageJobsProgress);
    await until(() => followers.every((f) => stepsOf(f).at(-1)?.status === "COMPLETED"), 60_000);
    expect(performance.now() - killedMs).toBeLessThan(45_000);
    for (const follower of followers) {
      const steps = stepsOf(follower);
      expect(steps.map(({ sequence }) => sequence)).toEqual(
        steps.map((_, n) => (steps[0]?.sequence ?? 0) + n),
      );
      expect(steps.map(({ step }) => step)).toContain("RESUMED");
      await follower.stop();
    }
    expect(await statusOf(second, secret, id)).toBe("completed");
    expect(broker.submissions).toHaveLength(1);
    await requireOnce(product.database, [id]);
    expect(await new LedgerService(product.database).verify()).toMatchObject({ faults: [], openHolds: 0 });
  });
});
