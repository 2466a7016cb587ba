import { beforeAll, expect, test } from "vitest";
import { openSession } from "../support/callers.ts";
import { type RestFailure, rest } from "../support/clients/rest-client.ts";
import { seedAccount } from "../support/seed.ts";
import { useStack } from "../support/stack.ts";

const stack = useStack();
const caller = { session: "", webhook: "" };
beforeAll(async () => {
  const { account } = await seedAccount(stack().app.database, 1_000n);
  caller.session = await openSession(stack().app, account);
  const body = { name: "one", url: "http://127.0.0.1:9/", events: ["deposit.seen"] };
  const made = await rest<{ readonly webhook_id: string }>(stack().origin, "/v1/webhooks", caller.session, {
    body,
  });
  expect(made.status).toBe(201);
  caller.webhook = made.body.webhook_id;
});

type Row = readonly [method: string, path: string, body: object | undefined, param: string];

test.each<Row>([
  ["POST", "/v1/webhooks/{webhook}/replay", { after: "x" }, "after"],
  ["POST", "/v1/webhooks/{webhook}/replay", { cursor: "x" }, "after"],
  ["POST", "/v1/webhooks", { name: "two", url: "nonsense", events: ["deposit.seen"] }, "url"],
  ["POST", "/v1/api-keys", { name: " " }, "name"],
  ["POST", "/v1/api-keys", { label: " " }, "label"],
  ["POST", "/v1/api-keys", { name: null, label: " " }, "label"],
  ["POST", "/v1/api-keys", { label: "a", expiration: "2020-01-01T00:00:00Z" }, "expiration"],
  ["POST", "/v1/api-keys", { label: "a", expires_at: "2020-01-01T00:00:00Z" }, "expires_at"],
  ["GET", "/v1/api-keys?cursor=x", undefined, "cursor"],
  ["GET", "/v1/api-keys?after=x", undefined, "after"],
  ["GET", "/v1/files?after=x", undefined, "after"],
  ["GET", "/v1/batches?after=x", undefined, "after"],
])("%s %s with the body %j names %s", async (method, path, body, param) => {
  const url = path.replace("{webhook}", caller.webhook);
  const reply = await rest<RestFailure>(stack().origin, url, caller.session, { method, body });
  expect([reply.status, reply.body.error.param]).toEqual([expect.toSatisfy(isRefusal), param]);
});

const LONG = "x".repeat(10_000);
test.each([
  ["is not known", `{"${LONG}":1}`, `${LONG.slice(0, 256)}...: is not known here`],
  ["is sent twice", `{"name":"a","${LONG}":1,"${LONG}":1}`, `${LONG.slice(0, 256)}...: duplicate field`],
  ["has a prototype", `{"${LONG}":{"__proto__":{}}}`, /^x{256}\.\.\.: a member of this name is not allowed$/],
])("a field with a long name that %s is named by its beginning", async (_what, body, message) => {
  const reply = await rest<RestFailure>(stack().origin, "/v1/api-keys", caller.session, { body });
  const { error } = reply.body;
  expect([reply.status, error.param]).toEqual([400, `${LONG.slice(0, 256)}...`]);
  expect(error.message).toMatch(message);
});

function isRefusal(status: number): boolean {
  return status >= 400 && status < 500;
}
