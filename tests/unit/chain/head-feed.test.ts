import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { HeadFeed } from "../../../src/chain/watcher/head-feed.ts";
import type { ChainBlock } from "../../../src/chain/watcher/log-handler.ts";
import type { Hex } from "../../../src/kernel/text/hex.ts";

const POLL_MS = 250;

beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] }));
afterEach(() => void vi.useRealTimers());

/** A feed over a chain whose newest block has the hash `newest`, and cannot be read while that is undefined. */
function feedOf(newest: Hex | undefined) {
  const chain = {
    newest,
    reads: 0,
    /** Resolved before a read is answered. */
    answered: Promise.resolve(),
  };
  const head = async (): Promise<ChainBlock> => {
    chain.reads += 1;
    const { newest: hash } = chain;
    await chain.answered;
    if (hash === undefined) throw new Error("unreachable");
    return { hash, number: 1n, parentHash: "0x00", timestamp: new Date(0) };
  };
  return { chain, feed: new HeadFeed({ head }, POLL_MS) };
}

test("watchers that wait together share one read per interval, and another block wakes all of them once", async () => {
  const { chain, feed } = feedOf("0x01");
  const wake = vi.fn();
  for (let n = 0; n < 6; n++) feed.wakeAfter("0x01", wake);
  await vi.advanceTimersByTimeAsync(10 * POLL_MS);
  expect(chain.reads).toBe(10);
  expect(wake).not.toHaveBeenCalled();
  chain.newest = "0x02";
  await vi.advanceTimersByTimeAsync(10 * POLL_MS);
  expect(wake).toHaveBeenCalledTimes(6);
  expect(chain.reads).toBe(11);
});

test("nothing is read while no watcher waits", async () => {
  const { chain, feed } = feedOf("0x01");
  await vi.advanceTimersByTimeAsync(10 * POLL_MS);
  feed.wakeAfter("0x01", () => {})();
  await vi.advanceTimersByTimeAsync(10 * POLL_MS);
  expect(chain.reads).toBe(0);
  expect(vi.getTimerCount()).toBe(0);
});

test("a chain that cannot be read wakes those who wait, with the failure", async () => {
  const { chain, feed } = feedOf("0x01");
  const wake = vi.fn();
  feed.wakeAfter("0x01", wake);
  chain.newest = undefined;
  await vi.advanceTimersByTimeAsync(POLL_MS);
  expect(wake.mock.calls).toEqual([[new Error("unreachable")]]);
});

test("a wait that begins during a read is not ended by it, and does not add reads", async () => {
  const { chain, feed } = feedOf("0x01");
  const [first, second] = [vi.fn(), vi.fn()];
  const { promise, resolve } = Promise.withResolvers<void>();
  chain.answered = promise;
  const end = feed.wakeAfter("0x01", first);
  await vi.advanceTimersByTimeAsync(POLL_MS);
  end();
  feed.wakeAfter("0x02", second);
  await vi.advanceTimersByTimeAsync(3 * POLL_MS);
  expect(chain.reads).toBe(1);
  chain.newest = "0x02";
  resolve();
  await vi.advanceTimersByTimeAsync(10 * POLL_MS);
  expect(chain.reads).toBe(11);
  expect(first).not.toHaveBeenCalled();
  expect(second).not.toHaveBeenCalled();
});
