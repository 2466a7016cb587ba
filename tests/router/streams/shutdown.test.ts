import { expect, test } from "vitest";
import { openGraph } from "../../../gateway/federation/graph.ts";
import { createServer } from "../../../gateway/server.ts";
import { LedgerService } from "../../../src/accounts/ledger.service.ts";
import { balanceAtRest } from "../../support/balance.ts";
import { event, openStream, ROLE, sendJson } from "../../support/inference/scripted-provider.ts";
import { useRouter } from "../../support/router.ts";
import { until } from "../../support/until.ts";

const router = await useRouter({ models: ["endless", "silent", "busy"] });

test("a server that closes ends the streams that take longer with an error, and bills what was delivered", async () => {
  const { app, scripted, seed } = router();
  const seeded = await seed();
  const silent = Promise.withResolvers<void>();
  for (const { scripts } of scripted) {
    scripts.set("endless", (_, response) => {
      openStream(response).write(`${ROLE}${event({ delta: { content: "The sea " } })}`);
    });
    scripts.set("silent", (_, response) => {
      openStream(response).write(ROLE);
      silent.resolve();
    });
  }
  const graph = await openGraph({ kind: "local", app }, app);
  const server = await createServer(app, graph, undefined, 100);
  const origin = await server.listen({ host: "127.0.0.1", port: 0 });
  const ask = (model: string) =>
    fetch(`${origin}/v1/chat/completions`, {
      method: "POST",
      headers: { "content-type": "application/json", authorization: `Bearer ${seeded.secret}` },
      body: JSON.stringify({ model, stream: true, messages: [{ role: "user", content: "a" }] }),
    });
  const begun = await ask("endless");
  const waiting = ask("silent");
  await silent.promise;
  const closed = server.close();
  const text = await begun.text();
  expect(text).toContain("The sea ");
  expect(text).not.toContain("[DONE]");
  const last = JSON.parse(text.trimEnd().split("\n\n").at(-1)?.slice("data: ".length) ?? "");
  expect(last).toMatchObject({ error: { code: "upstream_error" }, usage: { completion_tokens: 3 } });
  const refused = await waiting;
  expect([refused.status, ((await refused.json()) as { error: object }).error]).toMatchObject([
    503,
    { code: "unavailable", message: "The server is shutting down." },
  ]);
  await closed;
  await graph.close();
  const { rows } = await app.requests.list(seeded.account, { first: 10 });
  expect(rows.map(({ model, status, errorCode }) => [model, status, errorCode])).toEqual([
    ["silent", "failed", "unavailable"],
    ["endless", "failed", "unavailable"],
  ]);
  const cost = BigInt(last.x_0g_trace.billing.total_cost);
  expect(cost).toBeGreaterThan(0n);
  expect(await balanceAtRest(app, seeded.account)).toMatchObject({ held: 0n });
  expect(await new LedgerService(app.database).verify()).toMatchObject({ faults: [] });
});

test("a server that closes ends a stream that waits for its next attempt, and sends no other one", async () => {
  const { app, scripted, seed } = router();
  const seeded = await seed();
  for (const { scripts } of scripted)
    scripts.set("busy", (_, response) =>
      sendJson(response, 429, { error: { message: "Busy." } }, { "retry-after": "8" }),
    );
  const calls = () => scripted.reduce((sum, provider) => sum + provider.callsOf("busy").length, 0);
  const graph = await openGraph({ kind: "local", app }, app);
  const server = await createServer(app, graph, undefined, 100);
  const origin = await server.listen({ host: "127.0.0.1", port: 0 });
  const asked = fetch(`${origin}/v1/chat/completions`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${seeded.secret}` },
    body: JSON.stringify({ model: "busy", stream: true, messages: [{ role: "user", content: "a" }] }),
  });
  await until(() => calls() === 2);
  const closed = server.close();
  const refused = await asked;
  expect([refused.status, ((await refused.json()) as { error: object }).error]).toMatchObject([
    503,
    { code: "unavailable", message: "The server is shutting down." },
  ]);
  await closed;
  await graph.close();
  const { rows } = await app.requests.list(seeded.account, { first: 1 });
  expect(rows).toMatchObject([{ status: "failed", errorCode: "unavailable" }]);
  expect(calls()).toBe(2);
  expect(await balanceAtRest(app, seeded.account)).toMatchObject({ held: 0n });
});
