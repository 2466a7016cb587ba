// @module-tag large
import {
  createPublicClient,
  createTestClient,
  type Hex,
  http,
  keccak256,
  type PublicClient,
  parseGwei,
  publicActions,
} from "viem";
import { expect, onTestFinished, test } from "vitest";
import { WalletSender } from "../../src/chain/transactions/wallet-sender.ts";
import type { Queries } from "../../src/db/database.ts";
import { ROUTER_WALLET } from "../../src/devnet/chain/accounts.ts";
import { ImageFilesRunner } from "../../src/inference/images/image-files.runner.ts";
import { createLogger } from "../../src/kernel/log.ts";
import { startRpcProxy, type Verdict } from "../support/chain/rpc-proxy.ts";
import { rest } from "../support/clients/rest-client.ts";
import { seedAccount } from "../support/seed.ts";
import { SERVICES, useServices } from "../support/services.ts";
import { useStack } from "../support/stack.ts";
import { until } from "../support/until.ts";

const stack = useStack();
useServices(stack, ["images"]);

test("a transaction that a block includes while it is sent again pays for its image, and no other one does", async () => {
  const { app, origin, rpcUrl } = stack();
  const { database } = app;
  const { secret } = await seedAccount(database, 10n ** 9n);
  const body = { model: SERVICES.images.model, prompt: "a sea", size: "64x64" };
  await rest(origin, "/v1/async/images/generations", secret, { body });
  await until(async () => (await database.rows("select 1 from job where state = 'completed'")).length === 1);
  const proxy = await startRpcProxy(rpcUrl);
  const chain = createPublicClient({ transport: http(rpcUrl) });
  let held: `0x${string}` | undefined;
  let isHeld = false;
  proxy.judge = async ({ method, params }) => {
    if (method === "eth_sendRawTransaction" && !isHeld) {
      isHeld = true;
      held = params[0] as `0x${string}`;
      return { result: `0x${"0".repeat(64)}` };
    }
    if (method !== "eth_getTransactionReceipt" || held === undefined) return "pass";
    await chain.sendRawTransaction({ serializedTransaction: held });
    held = undefined;
    return { result: null };
  };
  const runner = new ImageFilesRunner({
    ...{ queries: database, uploads: app.uploads, log: createLogger("silent"), pollMs: 20 },
    sender: new WalletSender({
      client: createPublicClient({ transport: http(proxy.url, { retryCount: 0 }) }),
      chainId: app.network.chainId,
      privateKey: ROUTER_WALLET.privateKey,
      confirmations: 0,
    }),
  });
  onTestFinished(() => runner.stop());
  const transactions = async () => {
    type Row = { readonly state: string; readonly hash: string | null };
    return database.rows<Row>("select state, transaction_hash as hash from image_file");
  };
  runner.start();
  await until(async () => (await transactions())[0]?.hash != null);
  const [paid] = await transactions();
  const sent = () => proxy.calls.filter(({ method }) => method === "eth_sendRawTransaction").length;
  await until(() => sent() === 2);
  await until(async () => (await transactions())[0]?.state === "stored");
  expect(await transactions()).toEqual([{ state: "stored", hash: paid?.hash }]);
  expect(sent()).toBe(2);
  expect(await app.submissions.nextTxSeq()).toBe(1n);
});

test("a process that stops until its lease has expired, while it signs, does not pay a second time", async () => {
  const { app, origin, rpcUrl } = stack();
  const { database } = app;
  const { secret } = await seedAccount(database, 10n ** 9n);
  const body = { model: SERVICES.images.model, prompt: "a slow sea", size: "64x64" };
  const accepted = await rest<{ jobId: string }>(origin, "/v1/async/images/generations", secret, { body });
  const job = [accepted.body.jobId];
  await until(async () => {
    const sql = "select 1 from job where id = $1::uuid and state = 'completed'";
    return (await database.rows(sql, job)).length === 1;
  });
  const before = await app.submissions.nextTxSeq();
  const start = (url: string) => {
    const runner = new ImageFilesRunner({
      ...{ queries: database, uploads: app.uploads, log: createLogger("silent"), pollMs: 20 },
      sender: new WalletSender({
        client: createPublicClient({ transport: http(url, { retryCount: 0, timeout: 60_000 }) }),
        chainId: app.network.chainId,
        privateKey: ROUTER_WALLET.privateKey,
        confirmations: 0,
      }),
    });
    onTestFinished(() => runner.stop());
    runner.start();
    return runner;
  };
  const [stopped, other] = [await startRpcProxy(rpcUrl), await startRpcProxy(rpcUrl)];
  const pause = Promise.withResolvers<void>();
  const isPaused = Promise.withResolvers<void>();
  stopped.judge = async ({ method }): Promise<Verdict> => {
    if (method !== "eth_estimateGas") return "pass";
    isPaused.resolve();
    await pause.promise;
    return "pass";
  };
  const first = start(stopped.url);
  await isPaused.promise;
  await database.rows("update image_file_lease set until = now() - interval '1 second'");
  start(other.url);
  const sent = ({ calls }: typeof other) => calls.filter(({ method }) => method === "eth_sendRawTransaction");
  await until(() => sent(other).length > 0);
  pause.resolve();
  await first.stop();
  type Row = { readonly state: string };
  const states = async () => database.rows<Row>("select state from image_file where job_id = $1::uuid", job);
  await until(async () => (await states())[0]?.state === "stored");
  expect(sent(stopped)).toEqual([]);
  expect(await app.submissions.nextTxSeq()).toBe(before + 1n);
});

test("an image is not given up because the chain is away, but because the chain refuses it", async () => {
  const { app, origin, rpcUrl } = stack();
  const { database } = app;
  const { secret } = await seedAccount(database, 10n ** 9n);
  const proxy = await startRpcProxy(rpcUrl);
  const runner = new ImageFilesRunner({
    ...{ queries: database, uploads: app.uploads, log: createLogger("silent"), pollMs: 20 },
    sender: new WalletSender({
      client: createPublicClient({ transport: http(proxy.url, { retryCount: 0 }) }),
      chainId: app.network.chainId,
      privateKey: ROUTER_WALLET.privateKey,
      confirmations: 0,
    }),
  });
  onTestFinished(() => runner.stop());
  /** Makes an image that has failed nine times, while the chain is like this. */
  const failAgain = async (prompt: string, verdict: Verdict) => {
    proxy.judge = () => "cut";
    const body = { model: SERVICES.images.model, prompt, size: "64x64" };
    const accepted = await rest<{ jobId: string }>(origin, "/v1/async/images/generations", secret, { body });
    const job = [accepted.body.jobId];
    type Row = { readonly state: string; readonly failures: number; readonly rests: boolean };
    const file = async () => {
      const sql = `select state, failures, next_try > now() + interval '20 seconds' as rests from image_file
        where job_id = $1::uuid`;
      return (await database.rows<Row>(sql, job))[0];
    };
    runner.start();
    await until(async () => (await file()) !== undefined);
    await database.rows(
      "update image_file set failures = 9, next_try = now() + interval '1 hour' where job_id = $1::uuid",
      job,
    );
    proxy.judge = () => verdict;
    const calls = proxy.calls.length;
    const retry = () => database.rows("update image_file set next_try = now() where job_id = $1::uuid", job);
    await retry();
    await until(() => proxy.calls.length > calls);
    return { file, retry };
  };
  const away = await failAgain("a sea without a chain", "cut");
  await until(async () => {
    const file = await away.file();
    return file?.state === "failed" || file?.rests;
  });
  expect(await away.file()).toMatchObject({ state: "waiting", failures: 9 });
  proxy.judge = () => "pass";
  await until(async () => {
    await away.retry();
    return (await away.file())?.state === "stored";
  });
  const refused = await failAgain("a refused sea", {
    error: { code: -32_000, message: "insufficient funds" },
  });
  await until(async () => (await refused.file())?.state === "failed");
});

test("the images of a job are read from the database one at a time", async () => {
  const { app, origin } = stack();
  const { database } = app;
  const { secret } = await seedAccount(database, 10n ** 9n);
  const body = { model: SERVICES.images.model, prompt: "three seas", n: 3, size: "64x64" };
  const accepted = await rest<{ jobId: string }>(origin, "/v1/async/images/generations", secret, { body });
  const { jobId } = accepted.body;
  const stored = () =>
    database.rows<{ state: string }>("select state from image_file where job_id = $1::uuid", [jobId]);
  const [result] = await until(async () => {
    const rows = await database.rows<{ result: string | null }>(
      "select result from job_content where id = $1::uuid",
      [jobId],
    );
    return rows[0]?.result != null && rows;
  });
  const { data: images } = JSON.parse(result?.result ?? "") as { data: readonly { b64_json: string }[] };
  const imagesRead: number[] = [];
  const queries: Queries = {
    async rows<Row>(sql: string, parameters?: readonly unknown[]) {
      const rows = await database.rows<Row>(sql, parameters);
      const text = JSON.stringify(rows);
      const read = new Set(images.map(({ b64_json }) => b64_json));
      imagesRead.push([...read].reduce((sum, image) => sum + text.split(image).length - 1, 0));
      return rows;
    },
  };
  const runner = new ImageFilesRunner({
    ...{ queries, uploads: app.uploads, log: createLogger("silent"), pollMs: 20 },
    sender: new WalletSender({
      client: createPublicClient({ transport: http(stack().rpcUrl) }),
      chainId: app.network.chainId,
      privateKey: ROUTER_WALLET.privateKey,
      confirmations: 0,
    }),
  });
  onTestFinished(() => runner.stop());
  runner.start();
  await until(async () => {
    const files = await stored();
    return files.length === 3 && files.every(({ state }) => state === "stored");
  });
  expect(Math.max(...imagesRead)).toBe(1);
});

test.each([
  ["is no file", { data: [{ b64_json: "A" }] }],
  ["is not there", { data: [] }],
])(
  "an image that %s is given up, and does not keep those of other jobs from being stored",
  async (_, broken) => {
    const { app, origin, rpcUrl } = stack();
    const { database } = app;
    const { secret } = await seedAccount(database, 10n ** 9n);
    const run = async (prompt: string) => {
      const body = { model: SERVICES.images.model, prompt, size: "64x64" };
      const accepted = await rest<{ jobId: string }>(origin, "/v1/async/images/generations", secret, {
        body,
      });
      const { jobId } = accepted.body;
      await until(async () => {
        const sql = "select 1 from job where id = $1::uuid and state = 'completed'";
        return (await database.rows(sql, [jobId])).length === 1;
      });
      return jobId;
    };
    const [first, second] = [await run("a lost sea"), await run("a found sea")];
    await database.rows("update job_content set result = $2::text where id = $1::uuid returning 1", [
      first,
      JSON.stringify(broken),
    ]);
    let reads = 0;
    const queries: Queries = {
      rows(sql, parameters) {
        if (parameters?.[0] === first && sql.includes("b64_json")) reads++;
        return database.rows(sql, parameters);
      },
    };
    const runner = new ImageFilesRunner({
      ...{ queries, uploads: app.uploads, log: createLogger("silent"), pollMs: 20 },
      sender: new WalletSender({
        client: createPublicClient({ transport: http(rpcUrl) }),
        chainId: app.network.chainId,
        privateKey: ROUTER_WALLET.privateKey,
        confirmations: 0,
      }),
    });
    onTestFinished(() => runner.stop());
    runner.start();
    const stateOf = async (jobId: string) => {
      type Row = { readonly state: string };
      const sql = "select state from image_file where job_id = $1::uuid";
      return (await database.rows<Row>(sql, [jobId])).map(({ state }) => state);
    };
    await until(async () => (await stateOf(second))[0] === "stored");
    expect(await stateOf(first)).toEqual(["failed"]);
    expect(reads).toBeLessThanOrEqual(2);
  },
);

test.each([
  ["the replacement with a higher fee", true],
  ["the replaced transaction, because the fee falls again", false],
])("a transaction that a risen base fee holds up is paid once: by %s", async (_, isReplaced) => {
  const { app, origin, rpcUrl } = stack();
  const { database } = app;
  const { secret } = await seedAccount(database, 10n ** 9n);
  const body = { model: SERVICES.images.model, prompt: `a dear sea, ${isReplaced}`, size: "64x64" };
  const { jobId } = (await rest<{ jobId: string }>(origin, "/v1/async/images/generations", secret, { body }))
    .body;
  await until(async () => {
    const sql = "select 1 from job where id = $1::uuid and state = 'completed'";
    return (await database.rows(sql, [jobId])).length === 1;
  });
  const chain = createTestClient({ mode: "anvil", transport: http(rpcUrl) }).extend(publicActions);
  const before = { seq: await app.submissions.nextTxSeq(), nonce: await nonceOf(chain) };
  await chain.setNextBlockBaseFeePerGas({ baseFeePerGas: parseGwei("1") });
  await chain.mine({ blocks: 1 });
  await chain.setAutomine(false);
  onTestFinished(() => chain.setAutomine(true));
  const proxy = await startRpcProxy(rpcUrl);
  const sent: Hex[] = [];
  proxy.judge = ({ method, params }) => {
    if (method !== "eth_sendRawTransaction") return "pass";
    const raw = params[0] as Hex;
    if (!sent.includes(raw)) sent.push(raw);
    return isReplaced || raw === sent[0] ? "pass" : { result: keccak256(raw) };
  };
  const runner = new ImageFilesRunner({
    ...{ queries: database, uploads: app.uploads, log: createLogger("silent"), pollMs: 20 },
    sender: new WalletSender({
      client: createPublicClient({ transport: http(proxy.url, { retryCount: 0 }) }),
      chainId: app.network.chainId,
      privateKey: ROUTER_WALLET.privateKey,
      confirmations: 0,
    }),
  });
  onTestFinished(() => runner.stop());
  runner.start();
  await until(() => sent.length === 1);
  await chain.setNextBlockBaseFeePerGas({ baseFeePerGas: parseGwei("500") });
  await chain.mine({ blocks: 1 });
  expect(await nonceOf(chain)).toBe(before.nonce);
  await until(() => sent.length === 2);
  await chain.setNextBlockBaseFeePerGas({ baseFeePerGas: parseGwei(isReplaced ? "500" : "1") });
  await chain.mine({ blocks: 1 });
  await chain.setAutomine(true);
  // anvil drops a transaction that it could not include; other nodes keep it.
  if (!isReplaced) await chain.sendRawTransaction({ serializedTransaction: sent[0] ?? expect.unreachable() });
  await until(async () => {
    const sql = "select state from image_file where job_id = $1::uuid";
    return (await database.rows<{ state: string }>(sql, [jobId]))[0]?.state === "stored";
  });
  expect(sent).toHaveLength(2);
  expect(await nonceOf(chain)).toBe(before.nonce + 1);
  expect(await app.submissions.nextTxSeq()).toBe(before.seq + 1n);
});

/** The number of transactions of the router's wallet in blocks. */
async function nonceOf(chain: Pick<PublicClient, "getTransactionCount">): Promise<number> {
  return chain.getTransactionCount({ address: ROUTER_WALLET.address, blockTag: "latest" });
}
