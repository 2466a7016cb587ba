// @module-tag large
import { describe, expect, onTestFinished, test } from "vitest";
import { newId } from "../../src/kernel/text/ids.ts";
import { openSession } from "../support/callers.ts";
import { ask, followEvents, isRouted } from "../support/clients/graph-client.ts";
import { untilPublished } from "../support/events.ts";
import { seedAccount } from "../support/seed.ts";
import type { OnEnd } from "../support/servers/database.ts";
import { type Stack, useStack, useTwins } from "../support/stack.ts";
import { until } from "../support/until.ts";
import { answerWith, startReceiver } from "../support/webhooks/receiver.ts";

const OPERATOR = `0x${"0e".repeat(20)}`;
const SETTINGS = {
  OPERATORS: `0x${"0E".repeat(20)}`,
  GRAFANA_URL: "https://grafana.example.com/d/zerograph",
};
const stack = useStack(SETTINGS);

const ALL = `{ operations { grafanaUrl
  processes { processId host role version nodeVersion startedAt reportedAt silent eventLoopDelayP50Ms
    eventLoopDelayP99Ms residentBytes eventStreamCount subscriptionCount
    circuits { providerAddress modelId state openedAt pauseEndsAt failureKind failedAt } }
  queues { jobs { kind waitingCount runningCount oldestWaitingSeconds } unpublishedEventCount
    oldestUnpublishedSeconds newestEventPosition unmatchedEventCount }
  watchers { name phase scannedBlock headBlock lagBlocks note }
  webhooks { pendingCount failingCount disabledCount oldestWaitingSeconds
    faulty { webhookId accountAddress name host failureCount startedAt disabledReason } }
  ledgerCheck { endedAt durationMs full transferCount faultCount faults { fault subject } } } }`;

/** What an operator reads in a session. */
async function read({ app, origin }: Stack, query = ALL) {
  const { data, errors } = await ask(origin, await openSession(app, OPERATOR), query);
  expect(errors ?? []).toEqual([]);
  return data.operations;
}

/** The payload of what an operator does in a session. */
async function act({ app, origin }: Stack, mutation: string) {
  const { data, errors } = await ask(origin, await openSession(app, OPERATOR), `mutation { ${mutation} }`);
  expect(errors ?? []).toEqual([]);
  return Object.values(data)[0] as Record<string, unknown>;
}

describe("the state of the service", () => {
  test("is shown to an operator's session and key as a whole, and says who is one", async () => {
    const { app, origin } = stack();
    const key = await app.managementKeys.create(OPERATOR, newId(), ["account:read"]);
    const { data, errors } = await ask(origin, key.secret, `{ viewer { operator } ${ALL.slice(1)}`);
    expect(errors ?? []).toEqual([]);
    expect(data.viewer).toEqual({ operator: true });
    const { processes, watchers, queues, webhooks, grafanaUrl } = data.operations;
    expect(grafanaUrl).toBe(SETTINGS.GRAFANA_URL);
    expect(processes).toHaveLength(1);
    expect(processes[0]).toMatchObject({ role: "all", silent: false, nodeVersion: process.version });
    expect(Number(processes[0].residentBytes)).toBeGreaterThan(10_000_000);
    expect(watchers.map(({ name }: { name: string }) => name)).toContain("deposits");
    expect(queues).toMatchObject({ jobs: [], unpublishedEventCount: expect.any(Number) });
    expect(webhooks).toMatchObject({ pendingCount: 0, failingCount: 0, disabledCount: 0, faulty: [] });
    expect(await read(stack())).toMatchObject({ grafanaUrl });
  });

  test("is refused to every other account, with the code of its refusal", async () => {
    const { app, origin } = stack();
    const { account, secret } = await seedAccount(app.database, 0n);
    const reader = await app.managementKeys.create(account, newId(), ["account:read"]);
    const unscoped = await app.managementKeys.create(OPERATOR, newId(), ["keys:read"]);
    const codeOf = async (credential: string | undefined, query: string) => {
      const { data, errors } = await ask(origin, credential, query);
      expect(Object.values(data)).toEqual([null]);
      return errors?.[0]?.extensions?.code;
    };
    const session = await openSession(app, account);
    expect(await codeOf(reader.secret, ALL)).toBe("access_denied");
    expect(await codeOf(session, ALL)).toBe("access_denied");
    expect(await codeOf(unscoped.secret, ALL)).toBe("insufficient_scope");
    expect(await codeOf(secret, ALL)).toBe("insufficient_scope");
    expect(await codeOf(undefined, ALL)).toBe("missing_authorization");
    const mutation = "mutation { verifyLedger { check { faultCount } } }";
    expect(await codeOf(session, mutation)).toBe("access_denied");
    const scoped = await app.managementKeys.create(OPERATOR, newId(), ["account:read", "keys:manage"]);
    expect(await codeOf(scoped.secret, mutation)).toBe("insufficient_scope");
    for (const credential of [session, secret, undefined, unscoped.secret])
      expect((await ask(origin, credential, "{ viewer { operator } }")).data.viewer.operator).toBe(false);
  });

  // Another router's clients are connected to the router, and its subscriptions to the subgraphs.
  test.skipIf(isRouted)("counts the subscriptions of clients while they are open", async () => {
    const { app, origin } = stack();
    const session = await openSession(app, OPERATOR);
    const count = async () =>
      (await read(stack(), "{ operations { processes { subscriptionCount } } }")).processes[0]
        .subscriptionCount;
    const before = await count();
    const following = await followEvents(origin, session, "subscription { balanceChanged { id } }");
    await until(async () => expect(await count()).toBe(before + 1));
    await following.stop();
    await until(async () => expect(await count()).toBe(before));
  });
});

describe("what an operator does", () => {
  test("a check of the ledger is kept, and is not repeated at once", async () => {
    const { check } = (await act(
      stack(),
      "verifyLedger { userErrors { message } check { endedAt full faultCount faults { fault } transferCount } }",
    )) as { check: { endedAt: string } };
    expect(check).toMatchObject({ full: true, faultCount: 0, faults: [] });
    expect((await read(stack())).ledgerCheck).toMatchObject(check);
    const again = (await act(stack(), "verifyLedger { check { endedAt } }")) as { check: typeof check };
    expect(again.check.endedAt).toBe(check.endedAt);
    expect(stack().logged()).toMatch(
      new RegExp(`"operator":"${OPERATOR}","action":"check the ledger","msg":"an operator acts"`),
    );
  });

  test("expired holds are released", async () => {
    const payload = await act(stack(), "releaseExpiredHolds { releasedCount userErrors { message } }");
    expect(payload).toEqual({ releasedCount: 0, userErrors: [] });
  });

  test("a provider is paused and used again", async () => {
    const { app } = stack();
    const [provider] = app.catalogue.providers();
    if (!provider) throw new Error("there is no provider");
    const { address } = provider;
    const paused = `pauseProvider(input: { providerAddress: "${address}", seconds: 600 }) { userErrors { field message code } }`;
    expect(await act(stack(), paused)).toEqual({ userErrors: [] });
    await until(() => app.health.of(provider).isResting);
    const circuitsNow = async () => (await read(stack())).processes[0].circuits;
    const [circuit] = await until(async () => {
      const circuits = await circuitsNow();
      return circuits.length > 0 && circuits;
    });
    expect(circuit).toMatchObject({ state: "CLOSED", failureKind: null, modelId: provider.model });
    expect(circuit.providerAddress.toLowerCase()).toBe(address.toLowerCase());
    const restMs = Date.parse(circuit.pauseEndsAt) - Date.now();
    expect(restMs).toBeGreaterThan(500_000);
    expect(restMs).toBeLessThanOrEqual(600_000);
    await act(stack(), `closeProviderCircuits(input: { providerAddress: "${address}" }) { providerAddress }`);
    await until(() => !app.health.of(provider).isResting);
    await until(async () => expect(await circuitsNow()).toEqual([]));
  });

  test("an invalid input is reported at its field", async () => {
    const nobody = `0x${"1".repeat(40)}`;
    const errors = "{ userErrors { field code } }";
    expect(
      await act(stack(), `closeProviderCircuits(input: { providerAddress: "${nobody}" }) ${errors}`),
    ).toEqual({ userErrors: [{ field: "providerAddress", code: "provider_not_found" }] });
    const { address } = stack().app.catalogue.providers()[0] ?? {};
    for (const seconds of [0, -5, 9, 86_401])
      expect(
        await act(
          stack(),
          `pauseProvider(input: { providerAddress: "${address}", seconds: ${seconds} }) ${errors}`,
        ),
      ).toEqual({ userErrors: [{ field: "seconds", code: "invalid_parameter" }] });
    expect(await act(stack(), `enableFaultyWebhook(input: { id: "${newId()}" }) ${errors}`)).toEqual({
      userErrors: [{ field: "id", code: "webhook_not_found" }],
    });
  });

  test("a webhook of another account that its receiver disabled is listed without its path, and enabled again", async () => {
    const { app } = stack();
    const receiver = await startReceiver(onTestFinished as OnEnd, answerWith(410));
    const { account } = await seedAccount(app.database, 0n);
    const owner = { kind: "wallet-session", account, sessionId: "none" } as const;
    const { webhook } = await app.webhooks.create(owner, {
      name: "orders",
      url: `${receiver.url}?token=secret-path`,
      events: ["api_key.created"],
    });
    await app.apiKeys.create(account, newId(), {});
    await untilPublished(app.database);
    const [faulty] = await until(async () => {
      const { webhooks } = await read(stack());
      return webhooks.disabledCount === 1 && webhooks.faulty;
    });
    expect(faulty).toMatchObject({
      webhookId: webhook.id,
      name: "orders",
      host: new URL(receiver.url).host,
      disabledReason: "GONE",
    });
    expect(JSON.stringify(await read(stack()))).not.toContain("secret-path");
    receiver.answer = answerWith(200);
    const enable = `enableFaultyWebhook(input: { id: "${webhook.id}" }) { enabled userErrors { field code } }`;
    expect(await act(stack(), enable)).toEqual({ enabled: true, userErrors: [] });
    const refused = receiver.received[0]?.headers["webhook-id"];
    await until(
      () => receiver.received.filter(({ headers }) => headers["webhook-id"] === refused).length === 2,
    );
    await until(async () => (await app.webhooks.get(account, webhook.id)).status === "active");
    expect(await act(stack(), enable)).toEqual({
      enabled: null,
      userErrors: [{ field: "id", code: "invalid_parameter" }],
    });
    await app.webhooks.update(owner, webhook.id, { isEnabled: false });
    expect(await act(stack(), enable)).toMatchObject({ enabled: null });
  });
});

describe("two processes", () => {
  const twins = useTwins(SETTINGS);

  test("are seen from each other, with their circuits, until they end", async () => {
    const [first, second] = twins();
    const query = "{ operations { processes { processId role silent circuits { modelId pauseEndsAt } } } }";
    const ids = await until(async () => {
      const { processes } = await read(second, query);
      return processes.length === 2 && processes.map(({ processId }: { processId: string }) => processId);
    });
    expect(ids).toEqual([first.app.holds.processId, second.app.holds.processId]);
    const [provider] = first.app.catalogue.providers();
    if (!provider) throw new Error("there is no provider");
    first.app.health.rest(provider, 60_000);
    await first.app.processes.report();
    const { processes } = await read(second, query);
    expect(processes[0].circuits).toEqual([{ modelId: provider.model, pauseEndsAt: expect.any(String) }]);
    expect(processes[1].circuits).toEqual([]);
    // Its next report may come between the two.
    await until(async () => {
      await first.app.database.rows(
        "update process_report set reported_at = reported_at - interval '30 seconds' where id = $1::uuid",
        [first.app.holds.processId],
      );
      const late = await read(second, query);
      return late.processes.some(({ silent }: { silent: boolean }) => silent);
    });
    await first.app.processes.stop();
    expect((await read(second, query)).processes).toHaveLength(1);
  });
});
