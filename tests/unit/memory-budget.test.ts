import fc from "fast-check";
import { expect, test } from "vitest";
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
