import { expect, test } from "vitest";
import { newId } from "../../src/kernel/ids.ts";
import { untilPublished } from "../support/events.ts";
import { followTogether, MAX_LAG_MS } from "../support/follow-together.ts";
import { seedAccount } from "../support/seed.ts";
import { useStack } from "../support/stack.ts";
import { STREAMING_CLIENTS } from "../support/streaming-clients.ts";

const stack = useStack();

test(`every client sees the same events in the same order, within ${MAX_LAG_MS} ms of the others`, async () => {
  const { app, origin } = stack();
  const { account } = await seedAccount(app.database, 1n);
  const { secret } = await app.managementKeys.create(account, newId(), ["keys:read"]);
  await untilPublished(app.database);
  const { seen, lagsMs } = await followTogether(STREAMING_CLIENTS, {
    origin,
    secret,
    query: "subscription { keyChanged { id cursor keyId change } }",
    idOf: (data) => (data as { keyChanged: { keyId: string } }).keyChanged.keyId,
    change: async () => (await app.apiKeys.create(account, newId())).key.id,
  });
  const [first] = Object.values(seen);
  expect(first?.length).toBeGreaterThan(0);
  for (const [client, ids] of Object.entries(seen)) expect(ids, client).toEqual(first);
  // The median: a pause of a busy machine delays one event, a client that hears late hears of each one late.
  const sorted = [...lagsMs].sort((one, other) => one - other);
  expect(sorted[Math.floor(sorted.length / 2)], JSON.stringify(lagsMs)).toBeLessThan(MAX_LAG_MS);
}, 120_000);
