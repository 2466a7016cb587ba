// @module-tag medium
import { expect, onTestFinished, test } from "vitest";
import type { Queries } from "../../../src/db/database.ts";
import { MemoryBus } from "../../../src/events/bus.memory.ts";
import { createLogger } from "../../../src/kernel/log.ts";
import { CredentialWatch } from "../../../src/keys/auth/credential-watch.service.ts";
import type { Principal } from "../../../src/keys/auth/principal.ts";
import { repeatedTurnMs } from "../../support/attack/event-loop.ts";
import { until } from "../../support/until.ts";

const MAX_TURN_MS = 50;
const SESSIONS = 20_000;
const ENDED = 4_000;

function sessionOf(n: number): Principal {
  return { kind: "wallet-session", sessionId: `session ${n}`, account: "0x01" } as unknown as Principal;
}

/** A watch over a database in which the first `ended` of the credentials it is asked for have ended. */
function newWatch() {
  let ended = 0;
  const rows = async () => Array.from({ length: ended }, (_, n) => ({ n, why: "session_ended" }));
  const bus = new MemoryBus();
  const queries = { rows } as unknown as Queries;
  const watch = new CredentialWatch({ queries, bus, log: createLogger("silent") });
  onTestFinished(() => watch.stop());
  const end = (count: number) => {
    ended = count;
  };
  return { watch, end };
}

test("thousands of sessions that end at the same time end their connections in short turns", async () => {
  const { watch, end } = newWatch();
  const prepare = async () => {
    const left = new Set<number>();
    const stops = Array.from({ length: SESSIONS }, (_, n) => {
      left.add(n);
      return watch.watch(sessionOf(n), () => left.delete(n));
    });
    return { left, stops };
  };
  const turnMs = await repeatedTurnMs(
    MAX_TURN_MS,
    async ({ left, stops }) => {
      end(ENDED);
      await until(() => left.size === SESSIONS - ENDED);
      end(0);
      expect([...left].every((n) => n >= ENDED)).toBe(true);
      expect(watch.size).toBe(SESSIONS - ENDED);
      for (const stop of stops) stop();
    },
    prepare,
  );
  expect(turnMs).toBeLessThan(MAX_TURN_MS);
});

test("what shall end last ends after the others of its credential", async () => {
  const { watch, end } = newWatch();
  const order: string[] = [];
  watch.watch(sessionOf(0), () => order.push("connection"), { isLast: true });
  watch.watch(sessionOf(0), () => order.push("subscription"));
  end(1);
  await until(() => order.length === 2);
  expect(order).toEqual(["subscription", "connection"]);
  expect(watch.size).toBe(0);
});
