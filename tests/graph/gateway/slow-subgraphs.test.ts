// @module-tag large
import { setTimeout as sleep } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";
import { openSession } from "../../support/callers.ts";
import { ask } from "../../support/clients/graph-client.ts";
import { seedAccount } from "../../support/seed.ts";
import type { OnEnd } from "../../support/servers/database.ts";
import { startRemoteGateway } from "../../support/servers/remote-gateway.ts";
import { useStack } from "../../support/stack.ts";
import { startReceiver } from "../../support/webhooks/receiver.ts";

const onEnd = onTestFinished as OnEnd;
/** Longer than a subgraph may be silent. */
const SLOW_MS = 5_500;
const stack = useStack();

test("what takes a subgraph process long is answered: a query, and a delivery to a slow receiver", async () => {
  const { app } = stack();
  const submissions = Object.create(app.submissions, {
    status: { value: () => sleep(SLOW_MS).then(() => app.submissions.status()) },
  });
  const { origin } = await startRemoteGateway({ app: { ...app, submissions } }, onEnd);
  const { account } = await seedAccount(app.database, 1n);
  const session = await openSession(app, account);
  const receiver = await startReceiver(onEnd, (_, response) => {
    setTimeout(() => response.writeHead(204).end(), SLOW_MS);
  });
  const made = await ask(
    ...[origin, session],
    `mutation ($url: String!) { createWebhook(input: { name: "slow", url: $url, events: [JOB_ENDED] }) { webhook { id } } }`,
    { url: receiver.url },
  );
  const { id } = made.data.createWebhook.webhook;
  const [tested, status] = await Promise.all([
    ask(
      ...[origin, session],
      "mutation ($id: ID!) { testWebhook(input: { id: $id }) { result { delivered } } }",
      { id },
    ),
    ask(origin, undefined, "{ storageStatus { nextTxSeq } }"),
  ]);
  expect(tested).toMatchObject({ data: { testWebhook: { result: { delivered: true } } } });
  expect(status).toMatchObject({ data: { storageStatus: { nextTxSeq: expect.any(String) } } });
});
