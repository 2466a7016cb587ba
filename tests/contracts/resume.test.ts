// @module-tag large
import { describe, expect, onTestFinished, test } from "vitest";
import { forgetEvents } from "../../src/events/outbox.ts";
import { newId } from "../../src/kernel/text/ids.ts";
import { seedAccount } from "../support/seed.ts";
import { useStack } from "../support/stack.ts";
import { until } from "../support/until.ts";
import { checkResuming } from "./resume/checks.ts";
import { type Misbehaviour, startStandIn } from "./resume/stand-in-server.ts";
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
  // Only published events are forgotten.
  await until(async () => (await database.rows("select 1 from outbox where position is null")).length === 0);
  await database.rows("update outbox set at = now() - interval '25 hours'");
  await forgetEvents(database, 1_000);
  const checks = await checkResuming({ ...target, position: POSITION, expiredCursor: String(eventCursor) });
  expect(checks.filter(({ failure }) => failure !== undefined)).toEqual([]);
  expect(checks).toHaveLength(10 * TRANSPORTS.length);
});

/** For each promise, a server that breaks it. */
const MISBEHAVIOURS: Readonly<Record<string, Misbehaviour>> = {
  R1: { show: ({ id }) => ({ id, cursor: "" }) },
  R2: { replay: (events, from = 0) => events.slice(from) },
  R3: { replay: (events, from) => (from === undefined ? [] : events.slice(from).reverse()) },
  R4: { show: ({ cursor }, send) => ({ id: `sent-${send}`, cursor }) },
  R5: { endsReplays: true },
  R6: { replay: (events, from) => (from === undefined ? [] : events.slice(from + 1)) },
  R7: { replay: () => [] },
  R8: { invalidCode: "internal_error" },
  R9: { position: (events) => events + 1 },
  R10: { expiredCode: "invalid_cursor" },
};

describe("the contract of resumable subscriptions", () => {
  const check = async (misbehaviour: Misbehaviour, limitMs?: number) => {
    const url = await startStandIn(misbehaviour, (end) => onTestFinished(end));
    const checks = await checkResuming({
      ...{ url, headers: {}, transports: ["sse"], limitMs },
      subscription: "subscription ($after: Cursor) { made(after: $after) { id cursor } }",
      cause: "mutation { make }",
      position: "{ position }",
      expiredCursor: "gone",
    });
    const broken = checks.filter(({ failure }) => failure !== undefined);
    return broken.map(({ promise }) => promise.split(" ")[0]);
  };

  test("is kept by a small server that does what it says", async () => {
    expect(await check({})).toEqual([]);
  });

  // Where an event must come, its absence is noticed when the limit is over, which is short here.
  test.each(Object.entries(MISBEHAVIOURS))("finds a server that breaks %s", async (promise, misbehaviour) => {
    expect(await check(misbehaviour, 300)).toContain(promise);
  });
});
