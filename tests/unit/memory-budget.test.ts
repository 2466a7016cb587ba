import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { AppError } from "../../src/kernel/errors.ts";
import {
  MemoryBudget,
  type MemoryLease,
  type MemoryOwner,
  memoryLimits,
} from "../../src/load/memory-budget.ts";

const TOTAL = 1_000;
const owner = fc.record({
  kind: fc.constantFrom("address" as const, "account" as const),
  id: fc.constantFrom("a", "b", "c"),
});
const step = fc.oneof(
  fc.record({ do: fc.constant("open" as const), owner }),
  fc.record({
    do: fc.constantFrom("reserve", "charge"),
    at: fc.nat(),
    bytes: fc.integer({ min: 0, max: 400 }),
  }),
  fc.record({ do: fc.constant("assign" as const), at: fc.nat(), owner }),
  fc.record({ do: fc.constant("release" as const), at: fc.nat() }),
);
type Held = { readonly lease: MemoryLease; owner: MemoryOwner; bytes: number };

test("no reservation exceeds the total or its owner's share, and all memory is released in the end", () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const limits = memoryLimits(TOTAL);
      const budget = new MemoryBudget(limits);
      const held: Held[] = [];
      const sum = (of: readonly Held[]) => of.reduce((all, { bytes }) => all + bytes, 0);
      for (const next of steps) {
        if (next.do === "open") {
          held.push({ lease: budget.open(next.owner), owner: next.owner, bytes: 0 });
          continue;
        }
        const lease = held[next.at % Math.max(1, held.length)];
        if (!lease) continue;
        if (next.do === "release") {
          lease.lease.release();
          held.splice(held.indexOf(lease), 1);
        } else if (next.do === "assign") {
          lease.lease.assignTo(next.owner);
          lease.owner = next.owner;
        } else if (next.do === "charge") {
          lease.lease.charge(next.bytes);
          lease.bytes += next.bytes;
        } else {
          const { kind, id } = lease.owner;
          const share = kind === "account" ? limits.perAccountBytes : limits.perAddressBytes;
          const own = sum(held.filter((other) => other.owner.kind === kind && other.owner.id === id));
          const addresses = sum(held.filter((other) => other.owner.kind === "address"));
          const isCrowded = kind === "address" && addresses + next.bytes > limits.addressesBytes;
          const fits = sum(held) + next.bytes <= TOTAL && own + next.bytes <= share && !isCrowded;
          if (fits) {
            lease.lease.reserve(next.bytes);
            lease.bytes += next.bytes;
          } else expect(() => lease.lease.reserve(next.bytes)).toThrow(AppError);
        }
        expect(budget.usedBytes).toBe(sum(held));
      }
      for (const { lease } of held) {
        lease.release();
        lease.release();
        lease.charge(1);
      }
      expect(budget.usedBytes).toBe(0);
    }),
    { numRuns: 500 },
  );
});

describe("when a reservation does not fit", () => {
  const LATER_MS = 2_001;
  let nowMs = 0;
  beforeEach(() => {
    vi.spyOn(performance, "now").mockImplementation(() => nowMs);
  });
  afterEach(() => {
    vi.restoreAllMocks();
    nowMs = 0;
  });

  /** A response of this size that its client does not read, and whether it was ended. */
  function unread(budget: MemoryBudget, of: MemoryOwner, bytes: number) {
    const lease = budget.open(of);
    const state = { lease, isEnded: false };
    lease.charge(bytes);
    lease.markUnread(() => {
      state.isEnded = true;
    });
    return state;
  }
  const address = (id: string): MemoryOwner => ({ kind: "address", id });
  const account = (id: string): MemoryOwner => ({ kind: "account", id });

  test("anonymous responses that wait for their clients are ended, longest first, and no more than needed", () => {
    const budget = new MemoryBudget(memoryLimits(TOTAL));
    const [first, second] = ["a", "b"].map((id) => unread(budget, address(id), 250));
    nowMs = LATER_MS;
    budget.open(address("c")).reserve(100);
    expect([first?.isEnded, second?.isEnded, budget.usedBytes]).toEqual([true, false, 350]);
  });

  test("a response stays until two seconds have passed, if its client reads, and if it is of an account", () => {
    const budget = new MemoryBudget(memoryLimits(TOTAL));
    const reading = unread(budget, address("a"), 200);
    const paid = unread(budget, account("d"), 300);
    reading.lease.markRead();
    nowMs = LATER_MS;
    const recent = unread(budget, address("b"), 300);
    const reserve = () => budget.open(address("c")).reserve(100);
    expect(reserve).toThrow("Requests hold too much memory");
    expect([reading.isEnded, paid.isEnded, recent.isEnded]).toEqual([false, false, false]);
    nowMs = 2 * LATER_MS;
    reserve();
    expect([reading.isEnded, paid.isEnded, recent.isEnded]).toEqual([false, false, true]);
  });

  test("a client that exceeds its own share ends only its own responses", () => {
    const budget = new MemoryBudget(memoryLimits(TOTAL));
    const other = unread(budget, address("a"), 100);
    const own = unread(budget, address("b"), 300);
    nowMs = LATER_MS;
    budget.open(address("b")).reserve(100);
    expect([other.isEnded, own.isEnded]).toEqual([false, true]);
    expect(() => budget.open(address("b")).reserve(400)).toThrow("Requests hold too much memory");
    expect(other.isEnded).toBe(false);
  });
});
