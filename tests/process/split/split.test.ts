// @module-tag large
import { type IncomingMessage, request } from "node:http";
import { text } from "node:stream/consumers";
import OpenAI from "openai";
import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import { LedgerService } from "../../../src/accounts/ledger.service.ts";
import { DEMO_USER } from "../../../src/devnet/chain/accounts.ts";
import { depositToVault } from "../../../src/devnet/chain/actors.ts";
import { systemClock } from "../../../src/kernel/clock.ts";
import { ANONYMOUS } from "../../../src/keys/auth/principal.ts";
import { ManagementKeyService } from "../../../src/keys/management-keys/management-key.service.ts";
import { PRINCIPAL_HEADER, sealPrincipal } from "../../../subgraphs/shared/principal-token.ts";
import { requireNoSecret } from "../../support/audit.ts";
import { MODEL } from "../../support/chain/network.ts";
import { ask, followEvents, followSocket } from "../../support/clients/graph-client.ts";
import { scaled } from "../../support/machine.ts";
import type { CollectedSpan } from "../../support/servers/trace-collector.ts";
import { until } from "../../support/until.ts";
import { chat, priceOf, QUESTION } from "../chat.ts";
import { type BalanceEvent, balanceChanged, eventsOf, followBoth, settledLast } from "./balance-followers.ts";
import { testImageJobs } from "./split-image-jobs.ts";
import { testOperations } from "./split-operations.ts";
import { newCustomer, type SplitProduct, startSplitProduct } from "./split-product.ts";
import { testSealedKeys } from "./split-sealed-keys.ts";

const ends: (() => Promise<void>)[] = [];
const onEnd = (end: () => Promise<void>) => void ends.unshift(end);

let product: SplitProduct;

const skipped = !inject("postgresUrl") || !inject("redisUrl");
if (skipped) console.warn("!! Several processes are NOT tested: this machine has no PostgreSQL or no Redis");

describe.skipIf(skipped)("one product in seven processes", () => {
  beforeAll(async () => {
    product = await startSplitProduct(onEnd);
  });
  afterAll(async () => {
    for (const end of ends) await end();
  });

  test("a deposit on chain is credited, and a change of the balance reaches both transports of a gateway", async () => {
    const { secret, managementKey, account } = await newCustomer(product.database, 10_000n);
    const [first, second] = origins();
    const followers = await followBoth(second, managementKey, secret);
    await depositToVault(product.rpcUrl, {
      fromKey: DEMO_USER.privateKey,
      account,
      amountNeuron: 5_000_000n,
    });
    const client = new OpenAI({ baseURL: `${first}/v1`, apiKey: secret, maxRetries: 0 });
    await until(async () => (await totalOf(second, managementKey)) > 5_000_000n);
    const answer = await client.chat.completions.create({ model: MODEL, messages: QUESTION, max_tokens: 6 });
    expect(answer.usage?.completion_tokens).toBe(6);
    const received = await Promise.all(followers.map((follower) => until(() => settledLast(follower, 6))));
    for (const events of received) {
      // The first may be the customer's own opening, delivered late.
      const deposited = events.findLast(({ cause }) => cause === "DEPOSIT");
      expect(deposited?.balance.total).toMatch(/^500\d{4}$/);
      expect(events.at(-1)).toMatchObject({ cause: "SETTLEMENT" });
    }
    // The second gateway replays what the first delivered, after the cursor of any of its events.
    const [events = []] = received;
    const [oldest, ...later] = events;
    const replay = await followEvents(first, managementKey, balanceChanged(oldest?.cursor));
    await until(() => replay.results.length >= later.length);
    expect(eventsOf(replay).slice(0, later.length)).toEqual(later);
    // What is held in advance returns when no request follows.
    const sinceMs = performance.now();
    for (const follower of followers) await until(() => eventsOf(follower).at(-1)?.balance.held === "0");
    expect(performance.now() - sinceMs).toBeLessThan(scaled(5_000));
    await Promise.all([replay, ...followers].map((follower) => follower.stop()));
  });

  test("revoking a key closes its open streams on both gateways, over both transports", async () => {
    const { secret, managementKey, account } = await newCustomer(product.database, 10_000n);
    const [onFirst, onSecond] = await Promise.all(
      origins().map((origin) => followBoth(origin, managementKey, secret)),
    );
    const followers = [...(onFirst ?? []), ...(onSecond ?? [])];
    const since = performance.now();
    const keys = new ManagementKeyService({
      database: product.database,
      clock: systemClock,
      committed: () => {},
    });
    const { rows } = await keys.list(account, { first: 1 });
    await keys.revoke(account, rows[0]?.id ?? "");
    const closed = await Promise.all(followers.map((follower) => follower.closed));
    expect(performance.now() - since).toBeLessThan(scaled(5_000));
    expect(closed.filter((event) => (event as { code?: number } | undefined)?.code === 4403)).toHaveLength(2);
    const received = followers.flatMap(({ results }) => results.at(-1)?.errors ?? []);
    expect(
      received.filter(({ extensions }) => extensions?.code === "api_key_revoked").length,
    ).toBeGreaterThanOrEqual(2);
  });

  test("a request is joined with its provider, its row on chain, its account and its key across the processes", async () => {
    const { secret, managementKey, account } = await newCustomer(product.database, 10_000n);
    expect((await chat(origins()[0], secret, { max_tokens: 4 })).status).toBe(200);
    const { data, errors } = await ask(origins()[1], managementKey, JOIN);
    expect(errors).toBeUndefined();
    const [node] = data.viewer.account.requests.nodes;
    expect(node).toMatchObject({
      status: "COMPLETED",
      cost: { total: `${priceOf(4)}` },
      model: { modelId: MODEL },
      provider: { routable: true, onChain: { modelId: MODEL } },
      account: { balance: { total: `${10_000n - priceOf(4)}` } },
      apiKey: { name: "test" },
    });
    expect(node.account.address.toLowerCase()).toBe(account);
    expect(data.network.head.number).toMatch(/^\d+$/);
  });

  test("a streamed chat is one trace, from the API through the ledger to the provider, and has its tokens", async () => {
    const { secret } = await newCustomer(product.database, 10_000n);
    const heard: string[] = [];
    product.provider.onBody = (_body, headers) => heard.push(...Object.keys(headers));
    const reply = await chat(origins()[0], secret, { stream: true, max_tokens: 4 });
    expect(await reply.text()).toContain("[DONE]");
    product.provider.onBody = undefined;
    const spans = await traceWith(({ facts }) => facts["gen_ai.usage.output_tokens"] === 4);
    const [door, chatSpan] = [spans.find(({ kind }) => kind === 2), named(spans, "chat")];
    expect(door).toMatchObject({
      name: "POST /v1/chat/completions",
      service: "zerograph-gateway",
      facts: { "http.response.status_code": 200, "http.route": "/v1/chat/completions" },
    });
    expect(door?.parentSpanId).toBeUndefined();
    expect(chatSpan).toMatchObject({
      kind: 3,
      parentSpanId: door?.spanId,
      facts: {
        "gen_ai.operation.name": "chat",
        "gen_ai.request.model": MODEL,
        "gen_ai.usage.output_tokens": 4,
      },
    });
    const post = named(spans, "POST");
    expect(post).toMatchObject({ parentSpanId: chatSpan?.spanId, facts: { "server.address": "127.0.0.1" } });
    const statements = spans.filter(({ facts }) => facts["db.system.name"] === "postgresql");
    const ours = statements.filter(({ parentSpanId }) => parentSpanId === chatSpan?.spanId);
    // The hold and the settlement.
    expect(ours.map(({ facts }) => String(facts["db.query.text"]).slice(0, 60))).toHaveLength(2);
    // Providers learn nothing of other clients: no trace header is sent to them.
    expect(heard).toContain("content-type");
    expect(heard.filter((name) => /^trace|^baggage/.test(name))).toEqual([]);
  });

  test("a query across subgraphs is one trace over their processes", async () => {
    const { managementKey } = await newCustomer(product.database, 10_000n);
    const query = `query Traced { viewer { account { balance { total } } } model(id: "${MODEL}") { id } }`;
    expect((await ask(origins()[1], managementKey, query)).errors).toBeUndefined();
    const known = await traceWith(({ name }) => name === "query Traced");
    const { traceId = "" } = known[0] ?? {};
    const processes = ["zerograph-subgraph-accounts", "zerograph-subgraph-inference"];
    const spans = await until(() => {
      const found = product.traces.spans.filter((span) => span.traceId === traceId);
      const services = new Set(found.map(({ service }) => service));
      return processes.every((service) => services.has(service)) && found;
    });
    const byId = new Map(spans.map((span) => [span.spanId, span]));
    for (const service of processes) {
      const server = spans.find((span) => span.service === service && span.kind === 2);
      const asking = byId.get(server?.parentSpanId ?? "");
      expect(asking).toMatchObject({ service: "zerograph-gateway", kind: 3 });
      expect(byId.get(asking?.parentSpanId ?? "")).toMatchObject({ name: "query Traced" });
    }
    expect(spans.filter(({ parentSpanId }) => parentSpanId === undefined)).toHaveLength(1);
    const inAccounts = spans.filter(({ service }) => service === processes[0]);
    expect(inAccounts.some(({ facts }) => facts["db.operation.name"] === "SELECT")).toBe(true);
  });

  test("a subgraph answers only requests with a principal that is signed and fresh", async () => {
    const [payload = "", signature = ""] = sealPrincipal(ANONYMOUS, product.internalSecret).split(".");
    const flipped = `${signature.startsWith("A") ? "B" : "A"}${signature.slice(1)}`;
    const refused = [
      undefined,
      "",
      "forged",
      `${payload}.${flipped}`,
      sealPrincipal(ANONYMOUS, `${product.internalSecret}x`),
      sealPrincipal(ANONYMOUS, product.internalSecret, Date.now() - 31_000),
    ];
    for (const [, { origin }] of product.subgraphs) {
      for (const token of refused) {
        expect(await statusOf(origin, token)).toBe(401);
        expect(await statusOf(origin, token, { upgrade: "anything" })).toBe(401);
      }
      for (const secret of [product.internalSecret, product.acceptedSecret])
        expect(await statusOf(origin, sealPrincipal(ANONYMOUS, secret))).toBe(200);
    }
  });

  test("of 100 parallel chats through both gateways on money for 50, 50 are answered and 50 refused: twenty times", async () => {
    for (let round = 0; round < 20; round++) {
      const { secret, managementKey } = await newCustomer(product.database, 50n * priceOf(5));
      const replies = await Promise.all(
        Array.from({ length: 100 }, (_, n) =>
          // On a busy machine PostgreSQL may seem to hang; what is refused then is not charged, and clients repeat it.
          until(async () => {
            const reply = await chat(origins()[n % 2 === 0 ? 0 : 1], secret, { max_tokens: 5 });
            const { error } = (await reply.json()) as { error?: { code: string } };
            return error?.code !== "unavailable" && (error?.code ?? reply.status);
          }),
        ),
      );
      const counts = [200, "insufficient_balance"].map((word) => replies.filter((reply) => reply === word));
      expect(
        counts.map(({ length }) => length),
        String([...new Set(replies)]),
      ).toEqual([50, 50]);
      expect(await totalOf(origins()[round % 2 === 0 ? 0 : 1], managementKey)).toBe(0n);
      expect(await new LedgerService(product.database).verify()).toMatchObject({ faults: [], openHolds: 0 });
    }
  });

  test("with one subgraph killed the fields of others are answered, and after its restart all are", async () => {
    const { managementKey } = await newCustomer(product.database, 777n);
    const query = `{ viewer { account { balance { total } } } model(id: "${MODEL}") { modelId } }`;
    await product.subgraphs.get("inference")?.end("SIGKILL");
    const { status, data, errors } = await ask(origins()[0], managementKey, query);
    expect(status).toBe(200);
    expect(data).toEqual({ viewer: { account: { balance: { total: "777" } } }, model: null });
    expect(errors?.map(({ path }) => path)).toEqual([["model"]]);
    await product.startSubgraph("inference");
    await until(async () => {
      const again = await ask(origins()[0], managementKey, query);
      return again.data.model?.modelId === MODEL && again.errors === undefined;
    });
  });

  test("with the worker killed a deposit waits for its successor, and is credited once", async () => {
    const { managementKey, account } = await newCustomer(product.database, 0n);
    await product.worker.end("SIGKILL");
    await depositToVault(product.rpcUrl, { fromKey: DEMO_USER.privateKey, account, amountNeuron: 42n });
    expect(await totalOf(origins()[0], managementKey)).toBe(0n);
    await product.startWorker();
    await until(async () => (await totalOf(origins()[0], managementKey)) === 42n);
    expect(await new LedgerService(product.database).verify()).toMatchObject({ faults: [] });
  });

  test("a hung worker is replaced by another, and credits nothing a second time when it resumes", async () => {
    const { managementKey, account } = await newCustomer(product.database, 0n);
    const deposit = (amountNeuron: bigint) =>
      depositToVault(product.rpcUrl, { fromKey: DEMO_USER.privateKey, account, amountNeuron });
    const hanging = product.worker;
    process.kill(hanging.pid, "SIGSTOP");
    await deposit(7n);
    await product.startWorker();
    await until(async () => (await totalOf(origins()[0], managementKey)) === 7n, 40_000);
    process.kill(hanging.pid, "SIGCONT");
    await deposit(5n);
    await until(async () => (await totalOf(origins()[0], managementKey)) === 12n);
    expect(await new LedgerService(product.database).verify()).toMatchObject({ faults: [] });
    await hanging.end("SIGKILL");
  });

  test("with one subgraph hanging the fields of others are answered within 5 s, and it is used again when it resumes", async () => {
    const { managementKey } = await newCustomer(product.database, 777n);
    const query = `{ viewer { account { balance { total } } } model(id: "${MODEL}") { id } }`;
    const { pid = 0 } = product.subgraphs.get("inference") ?? {};
    process.kill(pid, "SIGSTOP");
    const since = performance.now();
    const { status, data, errors } = await ask(origins()[0], managementKey, query);
    process.kill(pid, "SIGCONT");
    expect(performance.now() - since).toBeLessThan(scaled(6_000));
    expect([status, data]).toEqual([
      200,
      { viewer: { account: { balance: { total: "777" } } }, model: null },
    ]);
    expect(errors?.[0]).toMatchObject({ path: ["model"], extensions: { code: "unavailable" } });
    await until(async () => (await ask(origins()[0], managementKey, query)).errors === undefined);
  });

  test("a subscription through a subgraph that hangs, and then is killed, misses nothing", async () => {
    const { secret, managementKey } = await newCustomer(product.database, 10_000n);
    const followers = await followBoth(origins()[1], managementKey, secret);
    const hanging = product.subgraphs.get("accounts");
    process.kill(hanging?.pid ?? 0, "SIGSTOP");
    expect((await chat(origins()[0], secret, { max_tokens: 3 })).status).toBe(200);
    await hanging?.end("SIGKILL");
    expect((await chat(origins()[0], secret, { max_tokens: 4 })).status).toBe(200);
    await product.startSubgraph("accounts");
    const received = await Promise.all(
      followers.map((follower) => until(() => settledLast(follower, 4), 40_000)),
    );
    // Each of the charges made meanwhile is there: 3 tokens, then 4.
    for (const events of received) {
      const spent = distinct(events).filter(({ cause }) => cause === "SETTLEMENT");
      const totals = spent.slice(-3).map(({ balance }) => BigInt(balance.total));
      const [before = 0n, between = 0n, after = 0n] = totals;
      expect([before - between, between - after]).toEqual([priceOf(3), priceOf(4)]);
    }
    await Promise.all(followers.map((follower) => follower.stop()));
  });

  test("without Redis chats are answered and charged, and subscribers receive them when it is back, empty", async () => {
    const { secret, managementKey } = await newCustomer(product.database, 10_000n);
    const followers = await followBoth(origins()[1], managementKey, secret);
    await product.redis.kill();
    const since = performance.now();
    expect((await chat(origins()[0], secret, { max_tokens: 5 })).status).toBe(200);
    expect(performance.now() - since).toBeLessThan(scaled(5_000));
    await product.redis.start({ keepData: false });
    await Promise.all(followers.map((follower) => until(() => settledLast(follower, 5))));
    expect(await new LedgerService(product.database).verify()).toMatchObject({ faults: [], openHolds: 0 });
    await Promise.all(followers.map((follower) => follower.stop()));
  });

  test("with PostgreSQL hanging requests are refused within 5 s and no provider is called, and afterwards all works again", async () => {
    const { secret, managementKey } = await newCustomer(product.database, 10_000n);
    const followers = await followBoth(origins()[1], managementKey, secret);
    const [asked, since] = [product.provider.requests, performance.now()];
    product.postgres.pause();
    const replies = await Promise.all(
      [...Array(10)].map((_, n) => chat(origins()[n % 2 === 0 ? 0 : 1], secret)),
    );
    expect(performance.now() - since).toBeLessThan(scaled(6_000));
    for (const reply of replies) {
      expect([reply.status, reply.headers.get("retry-after")]).toEqual([503, "1"]);
      expect(((await reply.json()) as { error: { code: string } }).error.code).toBe("unavailable");
    }
    expect(product.provider.requests).toBe(asked);
    product.postgres.resume();
    // Statements that had reached the server run when it resumes, without a client: what they hold is released.
    const held = () => product.database.rows("select 1 from account where held > 0");
    await until(async () => (await chat(origins()[0], secret, { max_tokens: 6 })).status === 200);
    await Promise.all(followers.map((follower) => until(() => settledLast(follower, 6), 40_000)));
    await until(async () => (await held()).length === 0);
    expect(await new LedgerService(product.database).verify()).toMatchObject({ faults: [] });
    await Promise.all(followers.map((follower) => follower.stop()));
  });

  test("a hung gateway delivers what happened meanwhile when it resumes, and the other never waits for it", async () => {
    const { secret, managementKey } = await newCustomer(product.database, 10_000n);
    const followers = await followBoth(origins()[1], managementKey, secret);
    process.kill(product.gateways[1].pid, "SIGSTOP");
    expect((await chat(origins()[0], secret, { max_tokens: 7 })).status).toBe(200);
    process.kill(product.gateways[1].pid, "SIGCONT");
    await Promise.all(followers.map((follower) => until(() => settledLast(follower, 7))));
    await Promise.all(followers.map((follower) => follower.stop()));
  });

  test("of 200 calls that race one DELETE, while one gateway hangs, none is answered after it, and each answer is charged once", async () => {
    const { account, keyId, secret } = await newCustomer(product.database, 10n ** 12n);
    const managers = new ManagementKeyService({
      database: product.database,
      clock: systemClock,
      committed: () => {},
    });
    const manager = await managers.create(account, "manager", ["keys:manage"]);
    const [first, second] = origins();
    let [isRevoked, answered, late] = [false, 0, 0];
    const lane = async (origin: string, count: number) => {
      for (let n = 0; n < count; n++) {
        const isLate = isRevoked;
        const { status } = await chat(origin, secret, { max_tokens: 5 });
        if (status === 200) answered++;
        if (!isLate) continue;
        late++;
        expect(status).toBe(401);
      }
    };
    const lanes = [0, 1, 2, 3, 4].flatMap(() => [lane(first, 20), lane(second, 20)]);
    await until(() => answered >= 30);
    process.kill(product.gateways[1].pid, "SIGSTOP");
    const deleted = await fetch(`${first}/v1/api-keys/${keyId}`, {
      method: "DELETE",
      headers: { authorization: `Bearer ${manager.secret}` },
    });
    expect(deleted.status).toBe(200);
    isRevoked = true;
    process.kill(product.gateways[1].pid, "SIGCONT");
    await Promise.all(lanes);
    expect(late).toBeGreaterThan(0);
    const [books] = await product.database.rows<{ charged: number }>(
      "select count(*)::int as charged from inference_request where api_key_id = $1::uuid and total_cost > 0",
      [keyId],
    );
    expect(books?.charged).toBe(answered);
    expect(await new LedgerService(product.database).verify()).toMatchObject({ faults: [] });
  });

  testOperations(() => product);
  testSealedKeys(() => product);
  testImageJobs(() => product);

  test("with one gateway killed the other continues, and SIGTERM ends the remaining processes in order", async () => {
    const { secret, managementKey } = await newCustomer(product.database, 10_000n);
    const following = await followSocket(origins()[1], managementKey, balanceChanged());
    const busy = await newCustomer(product.database, 10_000_000n);
    const asked = product.provider.requests;
    product.provider.behaviour = { delayMs: 60_000 };
    const lost = Array.from({ length: 50 }, () =>
      chat(origins()[0], busy.secret, { max_tokens: 4 }).catch(() => "lost"),
    );
    await until(() => product.provider.requests >= asked + 50);
    const killedMs = performance.now();
    await product.gateways[0].end("SIGKILL");
    product.provider.behaviour = {};
    expect(new Set(await Promise.all(lost))).toEqual(new Set(["lost"]));
    await until(async () => {
      const [row] = await product.database.rows<{ held: string }>(
        "select held::text as held from account where address = $1",
        [busy.account],
      );
      return row?.held === "0";
    });
    expect(performance.now() - killedMs).toBeLessThan(scaled(15_000));
    expect(await totalOf(origins()[1], busy.managementKey)).toBe(10_000_000n);
    await until(async () => {
      expect((await chat(origins()[1], secret, { max_tokens: 2 })).status).toBe(200);
      return following.results.length > 0;
    });
    const endings = await Promise.all(
      [product.worker, product.gateways[1], ...product.subgraphs.values()].map(({ end }) => end()),
    );
    const traced = product.traces.text();
    requireNoSecret(traced, "the traces");
    expect(traced).not.toContain(QUESTION[0]?.content);
    expect(new Set(endings.map(({ code, signal }) => code ?? signal))).toEqual(new Set([0]));
    await following.stop();
  });
});

const JOIN = `{
  viewer { account { requests(first: 1) { nodes {
    status cost { total } model { modelId } provider { routable onChain { modelId } }
    account { address balance { total held } } apiKey { name }
  } } } }
  network { head { number } }
}`;

/** The spans so far of the trace that has such a span, once its root is there. */
async function traceWith(isIt: (span: CollectedSpan) => boolean): Promise<readonly CollectedSpan[]> {
  return until(() => {
    const { spans } = product.traces;
    const traceId = spans.find(isIt)?.traceId;
    const trace = spans.filter((span) => span.traceId === traceId);
    return trace.some(({ parentSpanId }) => parentSpanId === undefined) && trace;
  });
}

function named(spans: readonly CollectedSpan[], name: string): CollectedSpan | undefined {
  return spans.find((span) => span.name === name);
}

/** Delivery is at least once: duplicates of an event are counted once. */
function distinct(events: readonly BalanceEvent[]): readonly BalanceEvent[] {
  return [...new Map(events.map((event) => [event.id, event])).values()];
}

function origins(): readonly [string, string] {
  const [first, second] = product.gateways;
  return [first.origin, second.origin];
}

/** Repeated until it succeeds: on a busy machine a subgraph may seem to hang, and its fields fail. */
async function totalOf(origin: string, managementKey: string): Promise<bigint> {
  return until(async () => {
    const { data } = await ask(origin, managementKey, "{ viewer { account { balance { total } } } }");
    return BigInt(data.viewer.account.balance.total);
  });
}

async function statusOf(origin: string, token?: string, headers: object = {}): Promise<number | undefined> {
  const asking = request(`${origin}/graphql`, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      ...(token !== undefined && { [PRINCIPAL_HEADER]: token }),
      ...headers,
    },
  });
  asking.end(JSON.stringify({ query: "{ __typename }" }));
  const reply = await new Promise<IncomingMessage>((resolve, reject) =>
    asking.once("response", resolve).once("error", reject),
  );
  await text(reply);
  return reply.statusCode;
}
