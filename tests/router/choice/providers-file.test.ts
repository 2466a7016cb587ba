// @module-tag large
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { MODEL } from "../../support/chain/network.ts";
import { ask } from "../../support/clients/graph-client.ts";
import { type RestFailure, rest } from "../../support/clients/rest-client.ts";
import { requireAvailable } from "../../support/inference/bill.ts";
import { seedAccount } from "../../support/seed.ts";
import { useStack } from "../../support/stack.ts";
import { until } from "../../support/until.ts";

type Chat = { readonly x_0g_trace: { readonly provider: string } };
type Preview = { readonly providers: readonly { readonly endpoint: string | null }[] };
type List = { readonly data: readonly Readonly<Record<string, unknown>>[] };

const folder = mkdtempSync(join(tmpdir(), "providers-"));
const file = join(folder, "providers.json");
const KEY = "TEST_PROVIDERS_FILE_KEY";

const PROVIDER_URL = "query ($address: Address!) { provider(address: $address) { url } }";

/** A server with OpenAI's API and no chain entry. */
const seen: { readonly path: string; readonly headers: IncomingMessage["headers"]; readonly body: string }[] =
  [];
const server: Server = createServer(async (request, response) => {
  const parts = await Array.fromAsync(request as AsyncIterable<Buffer>);
  const body = Buffer.concat(parts).toString("utf8");
  seen.push({ path: request.url ?? "", headers: request.headers, body });
  const choices = [{ index: 0, message: { role: "assistant", content: "hi" }, finish_reason: "stop" }];
  const usage = { prompt_tokens: 4, completion_tokens: 2, total_tokens: 6 };
  response.setHeader("content-type", "application/json");
  response.end(
    JSON.stringify({ id: "x", object: "chat.completion", created: 1, model: "m", choices, usage }),
  );
});
// Started before the stack, whose providers file must exist when it starts.
beforeAll(async () => {
  process.env[KEY] = "server-key";
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  write([model("local"), model(MODEL)]);
});
const stack = useStack({ PROVIDERS_FILE: file, CATALOGUE_REFRESH_MS: "200" });
afterAll(() => {
  server.close();
  delete process.env[KEY];
  rmSync(folder, { recursive: true });
});

test("an offer of the file is listed beside those of the chain, with its origin", async () => {
  const { body } = await rest<List>(stack().origin, "/v1/providers?model=local");
  expect(body.data).toMatchObject([
    {
      model_id: "local",
      provider_name: "workshop",
      pricing: { prompt: "1", completion: "2" },
      trust_mode: "standard",
      tee_acknowledged: false,
      is_healthy: null,
    },
  ]);
  expect(body.data[0]).not.toHaveProperty("serving_domain");
  const both = await rest<List>(stack().origin, `/v1/providers?model=${MODEL}`);
  expect(both.body.data).toHaveLength(2);
  const { body: models } = await rest<List>(stack().origin, "/v1/models");
  expect(models.data.find(({ id }) => id === "local")).toMatchObject({ owned_by: "workshop" });
});

test("customers see the URL of no server of the file, and those of the chain", async () => {
  const { origin, app } = stack();
  const { secret } = await seedAccount(app.database, 1_000n);
  const { port } = server.address() as AddressInfo;
  const endpoints = new Set<string | null>();
  for (const path of ["/v1/providers", "/v1/models", "/v1/models/local"])
    expect(JSON.stringify((await rest(origin, path)).body)).not.toContain(`:${port}`);
  for (const offer of app.catalogue.providers()) {
    const { address, source, url } = offer;
    const { data, errors } = await ask(origin, undefined, PROVIDER_URL, { address });
    expect(errors).toBeUndefined();
    expect(data.provider).toEqual({ url: source === "chain" ? url : null });
    const preview = await rest<Preview>(origin, "/v1/routing/preview", secret, {
      body: { service_type: offer.serviceType, model: offer.model, provider: { address } },
    });
    for (const { endpoint } of preview.body.providers) endpoints.add(endpoint);
  }
  expect(endpoints).toContain(null);
  expect(endpoints).toContain(`${stack().provider.url}/v1/proxy/chat/completions`);
});

test("it is called with its own key and its own model name, and charged at the file's price", async () => {
  const owner = await seedAccount(stack().app.database, 100n);
  const reply = await chat("local", owner.secret);
  expect(reply.status).toBe(200);
  const asked = seen.at(-1);
  expect(asked?.path).toBe("/v1/chat/completions");
  expect(asked?.headers.authorization).toBe("Bearer server-key");
  expect(JSON.parse(asked?.body ?? "")).toMatchObject({ model: "upstream:local", max_tokens: 3 });
  await requireAvailable(stack().app, owner, { available: 100n - 4n - 4n });
});

test("it takes over for a failing provider of the chain", async () => {
  stack().provider.behaviour = { instead: { status: 500, contentType: "text/plain", body: "x" } };
  const { secret } = await seedAccount(stack().app.database, 1_000n);
  const reply = await rest<Chat>(stack().origin, "/v1/chat/completions", secret, {
    body: { model: MODEL, max_tokens: 3, messages: [{ role: "user", content: "x" }] },
  });
  expect([reply.status, seen.at(-1)?.path]).toEqual([200, "/v1/chat/completions"]);
  stack().provider.behaviour = {};
});

test("a change of the file takes effect without a restart, and an invalid file changes nothing", async () => {
  writeFileSync(file, "{");
  await stack().app.catalogue.refresh();
  expect(stack().app.catalogue.model("local")).toBeDefined();
  expect(stack().app.catalogue.model(MODEL)?.providers).toHaveLength(2);
  write([model("other")]);
  await until(async () => {
    expect(stack().app.catalogue.model("local")).toBeUndefined();
    expect(stack().app.catalogue.model("other")).toBeDefined();
  });
  const { secret } = await seedAccount(stack().app.database, 100n);
  expect((await chat("other", secret)).status).toBe(200);
  const gone = await chat<RestFailure>("local", secret);
  expect(gone.body.error.code).toBe("model_not_found");
});

test("a provider that cannot be reached is not named by its URL", async () => {
  const { app } = stack();
  const { account, secret } = await seedAccount(app.database, 1_000n);
  write([model("lost")], 1);
  await app.catalogue.refresh();
  const failed = await chat<RestFailure>("lost", secret);
  expect(failed.status).toBe(502);
  const { rows } = await app.requests.list(account, { first: 1 });
  expect(rows[0]?.routing?.attempts).toSatisfy((tries: unknown[]) => tries.length > 0);
  for (const shown of [failed.body, rows[0]?.routing])
    expect(JSON.stringify(shown)).not.toMatch(/127\.0\.0\.1|ECONN/);
});

function chat<T = Chat>(id: string, secret: string) {
  return rest<T>(stack().origin, "/v1/chat/completions", secret, {
    body: { model: id, max_tokens: 3, messages: [{ role: "user", content: "x" }] },
  });
}

function model(id: string) {
  return { id, upstream_id: `upstream:${id}`, pricing: { prompt: "1", completion: "2" } };
}

function write(models: readonly object[], port = (server.address() as AddressInfo).port): void {
  const provider = { name: "workshop", url: `http://127.0.0.1:${port}/v1`, api_key_env: KEY, models };
  writeFileSync(file, JSON.stringify({ providers: [provider] }));
}
