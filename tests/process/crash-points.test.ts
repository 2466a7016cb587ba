// @module-tag large
import { expect, test } from "vitest";
import { judgeCopies } from "../crash/copies.ts";
import { killOnce } from "../crash/kill.ts";
import { type SentChat, sendChat } from "../crash/load.ts";
import { POINTS, type Point, planOf } from "../crash/points.ts";
import { chatCost } from "../crash/provider.ts";
import { scaled } from "../support/machine.ts";
import { until } from "../support/until.ts";
import { type CrashDatabase, useCrashWorlds } from "./crash-worlds.ts";

const SEED = 4;
/** Each database takes every second point: the whole matrix is `npm run test:crash`. */
const KILLS: readonly (readonly [CrashDatabase, readonly Point[]])[] = [
  ["PGlite", POINTS.filter((_, n) => n % 2 === 0)],
  ["PostgreSQL", POINTS.filter((_, n) => n % 2 === 1)],
];
const worlds = useCrashWorlds();

test.concurrent.for(KILLS)(
  "a process killed on %s at one point after the other bills each acknowledged answer once and keeps no hold",
  async ([name, points], { skip, expect }) => {
    const world = worlds().of(name, skip);
    for (const point of points) {
      const { faults } = await killOnce(world, planOf(point, SEED));
      expect(faults, point).toEqual([]);
    }
  },
);

// Many copies, and those of a running process and of a power failure, are `npm run test:disk`.
test("a copy of one instant of the data folder has every answer and every segment acknowledged before it", async ({
  skip,
}) => {
  const { rpcUrl, onEnd, of } = worlds();
  const [copy] = await judgeCopies(of("PGlite", skip), { form: "one instant", copies: 1, rpcUrl, onEnd });
  expect(copy?.faults).toEqual([]);
  expect(copy?.chats).toBeGreaterThan(0);
  expect(copy?.segments).toBeGreaterThan(0);
});

test("SIGTERM lets running answers finish, plain and streamed, before the process ends", async ({ skip }) => {
  const world = worlds().of("PostgreSQL", skip);
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
