import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { judgeCopies } from "../crash/copies.ts";
import { killOnce } from "../crash/kill.ts";
import { type SentChat, sendChat } from "../crash/load.ts";
import { POINTS, type Point, planOf } from "../crash/points.ts";
import { chatCost } from "../crash/provider.ts";
import { type CrashWorld, openCrashWorld } from "../crash/world.ts";
import { startNetwork } from "../support/chain/network.ts";
import { scaled } from "../support/machine.ts";
import { createServerDatabase } from "../support/servers/database.ts";
import { until } from "../support/until.ts";

const SEED = 4;
const ends: (() => Promise<void>)[] = [];
const onEnd = (end: () => Promise<void>) => void ends.unshift(end);

/** The whole matrix is `npm run test:crash`: here each database takes every second point. */
const DATABASES: readonly { readonly name: string; readonly points: readonly Point[] }[] = [
  { name: "PGlite", points: POINTS.filter((_, n) => n % 2 === 0) },
  { name: "PostgreSQL", points: POINTS.filter((_, n) => n % 2 === 1) },
];
const worlds = new Map<string, CrashWorld>();
let rpcUrl = "";

beforeAll(async () => {
  rpcUrl = (await startNetwork(onEnd)).rpcUrl;
  const serverUrl = inject("postgresUrl") && (await createServerDatabase(onEnd));
  await Promise.all(
    DATABASES.map(async ({ name }) => {
      const isServer = name === "PostgreSQL";
      if (isServer && !serverUrl) return;
      const world = await openCrashWorld(
        { name, ...(isServer && serverUrl && { serverUrl }) },
        rpcUrl,
        onEnd,
      );
      await world.start();
      worlds.set(name, world);
    }),
  );
});
afterAll(async () => {
  for (const end of ends) await end();
});

test.concurrent.for(DATABASES)(
  "killed at one point after the other on $name, it bills each acknowledged answer once and keeps no hold",
  async ({ name, points }, { skip, expect }) => {
    const world = worlds.get(name) ?? skip("there is no PostgreSQL server on this machine");
    for (const point of points) {
      const { faults } = await killOnce(world, planOf(point, SEED));
      expect(faults, point).toEqual([]);
    }
  },
);

// Many copies, and those of a running process and of a power failure, are `npm run test:disk`.
test("a copy of one instant of the data folder has every answer and every segment acknowledged before it", async () => {
  const world = worlds.get("PGlite");
  if (!world) throw new Error("the product was not started");
  const [copy] = await judgeCopies(world, { form: "one instant", copies: 1, rpcUrl, onEnd });
  expect(copy?.faults).toEqual([]);
  expect(copy?.chats).toBeGreaterThan(0);
  expect(copy?.segments).toBeGreaterThan(0);
});

test("SIGTERM lets running answers finish, plain and streamed, before the process ends", async ({ skip }) => {
  const world = worlds.get("PostgreSQL") ?? skip("there is no PostgreSQL server on this machine");
  const { providers, queries, secret, tripwire } = world;
  const { origin, end } = world.product();
  providers.chunkPauseMs = 100;
  const before = providers.received.size;
  const chats = Array.from({ length: 20 }, (_, n): SentChat => {
    const stream = n % 2 === 1;
    return { prompt: `before SIGTERM ${n}`, tokens: 10, stream, cancels: false, key: undefined };
  });
  const answers = chats.map(async (chat) => {
    const reply = await sendChat({ origin, secret, tripwire }, chat);
    chat.requestId = reply.headers.get("x-request-id") ?? "";
    return reply.text();
  });
  await until(() => providers.received.size - before === chats.length);
  const ending = end("SIGTERM");
  await until(() =>
    fetch(origin).then(
      () => false,
      () => true,
    ),
  );
  const texts = await Promise.all(answers);
  const overMs = performance.now();
  for (const text of texts) expect(text).toContain(`"total_cost":"${chatCost(10)}"`);
  expect(await ending).toEqual({ code: 0, signal: null });
  // It waits for answers, not for clients that keep their connections open.
  expect(performance.now() - overMs).toBeLessThan(scaled(10_000));
  const rows = await queries.rows<{ id: string }>(
    "select id from inference_request where total_cost > 0 and id = any($1::text[])",
    [chats.map(({ requestId }) => requestId)],
  );
  expect(rows).toHaveLength(chats.length);
});
