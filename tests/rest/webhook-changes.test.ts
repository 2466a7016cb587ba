import { expect, test } from "vitest";
import { SCOPES } from "../../src/keys/auth/principal.ts";
import { rest } from "../support/clients/rest-client.ts";
import { seedAccount } from "../support/seed.ts";
import { useStack } from "../support/stack.ts";

const stack = useStack();

type Webhook = {
  readonly webhook_id: string;
  readonly name: string;
  readonly balance_threshold: string | null;
};

test("null removes the threshold of a webhook and leaves its other fields; one that an event needs stays", async () => {
  const { app, origin } = stack();
  const { account } = await seedAccount(app.database, 0n);
  const { secret } = await app.managementKeys.create(account, "hooks", SCOPES);
  const send = (path: string, method: string, body: object) =>
    rest<Webhook>(origin, path, secret, { method, body });
  const { body: made } = await send("/v1/webhooks", "POST", {
    ...{ name: "low", url: "http://127.0.0.1:1/", events: ["balance.low"], balance_threshold: "5" },
  });
  const path = `/v1/webhooks/${made.webhook_id}`;
  expect(await send(path, "PATCH", { balance_threshold: null })).toMatchObject({
    status: 400,
    body: { error: { param: "balance_threshold" } },
  });
  const changed = await send(path, "PATCH", { balance_threshold: null, events: ["job.ended"], name: null });
  expect([changed.status, changed.body.balance_threshold, changed.body.name]).toEqual([200, null, "low"]);
});
