import { afterEach, expect, test } from "vitest";
import { newId } from "../../src/kernel/ids.ts";
import { untilPublished } from "../support/events.ts";
import {
  type Audience,
  causeTogether,
  MAX_LAG_MS,
  openAudience,
  untilAllReceive,
} from "../support/follow-together.ts";
import { codesOf } from "../support/followed.ts";
import { openHeartbeats } from "../support/heartbeats.ts";
import { MODEL } from "../support/network.ts";
import { startPausableProxy } from "../support/pausable-proxy.ts";
import { seedAccount } from "../support/seed.ts";
import { useStack } from "../support/stack.ts";
import { STREAMING_CLIENTS } from "../support/streaming-clients.ts";
import { until } from "../support/until.ts";

const stack = useStack({ GRAPH_LIMITS: "heartbeatMs=1500" });
const ends: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

const KEYS = "subscription Keys($after: Cursor) { keyChanged(after: $after) { id cursor keyId change } }";
const idOf = (data: unknown) => (data as KeyData).keyChanged.keyId;
type KeyData = { readonly keyChanged: { readonly keyId: string; readonly cursor: string } };

async function newOwner() {
  const { app, origin } = stack();
  const { account } = await seedAccount(app.database, 1n);
  const { key, secret } = await app.managementKeys.create(account, newId(), ["keys:read"]);
  await untilPublished(app.database);
  const change = async () => (await app.apiKeys.create(account, newId())).key.id;
  return { origin, secret, change, revoke: () => app.managementKeys.revoke(account, key.id) };
}

function open(followed: Parameters<typeof openAudience>[1], clients = STREAMING_CLIENTS): Audience {
  const audience = openAudience(clients, followed);
  ends.push(() => audience.stop());
  return audience;
}

/** What was received of these ids, by client. */
const seenOf = ({ received }: Audience, among: readonly string[]) =>
  Object.fromEntries(received.map(({ name, ids }) => [name, ids.filter((id) => among.includes(id))]));
/** The same for every client. */
const all = <T>(value: T) => Object.fromEntries(Object.keys(STREAMING_CLIENTS).map((name) => [name, value]));

test(`every client receives the same events in the same order, within ${MAX_LAG_MS} ms of the others, also behind a pause of heartbeats alone`, async () => {
  const { origin, secret, change } = await newOwner();
  const audience = open({ origin, secret, query: KEYS, idOf });
  await untilAllReceive(audience, change);
  const first = await causeTogether(audience, change);
  const heartbeats = openHeartbeats({ origin, secret, query: KEYS });
  ends.push(heartbeats.stop);
  await heartbeats.next(2);
  const second = await causeTogether(audience, change);
  const ids = [...first.ids, ...second.ids];
  expect(seenOf(audience, ids)).toEqual(all(ids));
  const lagsMs = [...first.lagsMs, ...second.lagsMs];
  expect(Math.max(...lagsMs), JSON.stringify(lagsMs)).toBeLessThanOrEqual(MAX_LAG_MS);
  expect(audience.received.flatMap(({ failures }) => failures)).toEqual([]);
});
