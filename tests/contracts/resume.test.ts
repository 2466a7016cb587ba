import { expect, test } from "vitest";
import { forgetEvents } from "../../src/events/outbox.ts";
import { newId } from "../../src/kernel/text/ids.ts";
import { seedAccount } from "../support/seed.ts";
import { useStack } from "../support/stack.ts";
import { checkResuming } from "./resume/checks.ts";
import { run, TRANSPORTS } from "./resume/transports.ts";

const stack = useStack();
const SUBSCRIPTION = "subscription ($after: Cursor) { keyChanged(after: $after) { id cursor } }";
const CAUSE = 'mutation { createApiKey(input: { name: "{n}" }) { __typename } }';
const POSITION = "{ eventCursor }";

async function newTarget() {
  const { app, origin } = stack();
  const { account } = await seedAccount(app.database, 1n);
  const { secret } = await app.managementKeys.create(account, newId(), ["keys:read", "keys:create"]);
  const headers = { authorization: `Bearer ${secret}` };
  return {
    url: `${origin}/graphql`,
    headers,
    subscription: SUBSCRIPTION,
    cause: CAUSE,
    transports: TRANSPORTS,
  };
}

test("the product keeps every promise of resumable subscriptions over WebSocket, SSE and multipart", async () => {
  const target = await newTarget();
  const { database } = stack().app;
  const { eventCursor } = await run(target, POSITION);
  await run(target, CAUSE);
  await run(target, CAUSE.replace("{n}", "another"));
  await database.rows("update outbox set at = now() - interval '25 hours'");
  await forgetEvents(database, 1_000);
  const checks = await checkResuming({ ...target, position: POSITION, expiredCursor: String(eventCursor) });
  expect(checks.filter(({ failure }) => failure !== undefined)).toEqual([]);
  expect(checks).toHaveLength(10 * TRANSPORTS.length);
});
