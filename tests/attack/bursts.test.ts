// @module-tag large
import { createTestClient, http } from "viem";
import { afterEach, expect, test } from "vitest";
import { newId } from "../../src/kernel/text/ids.ts";
import { repeatedTurnMs } from "../support/attack/event-loop.ts";
import { type CrowdMember, openCrowd } from "../support/attack/socket-crowd.ts";
import { untilPublished } from "../support/events.ts";
import { seedAccount } from "../support/seed.ts";
import { useStack } from "../support/stack.ts";
import { until } from "../support/until.ts";

/** 50 ms, and what Node itself does for the sockets of a crowd. */
const MAX_TURN_MS = 90;
const PER_SOCKET = 100;

const stack = useStack({}, "folder");
const ends: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

type Crowd = { readonly keys: number; readonly sockets: number; readonly selection?: string };

/** An account and its crowd: each key opens so many sockets, whose subscriptions have a source for each key and text. */
async function newCrowd({ keys, sockets, selection = "keyChanged { id }" }: Crowd) {
  const { app, origin } = stack();
  const { account } = await seedAccount(app.database, 1n);
  const queries = Array.from({ length: PER_SOCKET }, (_, n) => `subscription S${n} { ${selection} }`);
  const members: CrowdMember[] = [];
  for (let n = 0; n < keys; n++) {
    const { secret } = await app.managementKeys.create(account, newId(), ["keys:read"]);
    for (let m = 0; m < sockets; m++) members.push({ authorization: `Bearer ${secret}`, queries });
  }
  await untilPublished(app.database);
  const open = async () => {
    const crowd = openCrowd(origin, members);
    ends.push(() => crowd.close());
    await until(() => app.credentialWatch.size === members.length * (PER_SOCKET + 1));
    return crowd;
  };
  return { account, subscriptions: members.length * PER_SOCKET, open };
}

test("an event for thousands of subscribers is delivered to each in short turns", async () => {
  const { app } = stack();
  const { account, subscriptions, open } = await newCrowd({ keys: 40, sockets: 2 });
  const crowd = await open();
  let events = 0;
  const turnMs = await repeatedTurnMs(MAX_TURN_MS, async () => {
    events += 1;
    await app.apiKeys.create(account, newId());
    await until(async () => (await crowd.count()).next === events * subscriptions);
  });
  expect(turnMs).toBeLessThan(MAX_TURN_MS);
  await crowd.cut();
  await until(() => app.events.openStreams === 0);
});

test("a block for thousands of subscribers is delivered to each in short turns", async () => {
  const { rpcUrl, app } = stack();
  const { subscriptions, open } = await newCrowd({
    keys: 20,
    sockets: 2,
    selection: "blockAdded { number }",
  });
  const chain = createTestClient({ mode: "anvil", transport: http(rpcUrl) });
  const crowd = await open();
  const turnMs = await repeatedTurnMs(MAX_TURN_MS, async () => {
    const { next } = await crowd.count();
    await chain.mine({ blocks: 1 });
    await until(async () => (await crowd.count()).next >= next + subscriptions);
  });
  expect(turnMs).toBeLessThan(MAX_TURN_MS);
  await crowd.cut();
  await until(() => app.credentialWatch.size === 0);
});

test("thousands of subscriptions whose sockets are cut at once are ended in short turns", async () => {
  const { app } = stack();
  const { open } = await newCrowd({ keys: 20, sockets: 5 });
  const cut = async (crowd: { cut(): Promise<unknown> }) => {
    await crowd.cut();
    await until(() => app.credentialWatch.size === 0 && app.events.openStreams === 0);
  };
  expect(await repeatedTurnMs(MAX_TURN_MS, cut, open)).toBeLessThan(MAX_TURN_MS);
});
