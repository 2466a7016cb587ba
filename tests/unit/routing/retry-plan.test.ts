import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  type FailureKind,
  ProviderFailure,
} from "../../../src/inference/providers/exchange/provider-failure.ts";
import type { Provider } from "../../../src/inference/providers/provider.ts";
import {
  keepContinuing,
  keepLarger,
  pauseAfter,
  restEndMs,
  takeNext,
} from "../../../src/inference/routing/retry-plan.ts";
import { offer } from "../../support/inference/offers.ts";

const failure = (kind: FailureKind, more: { status?: number; retryAfterMs?: number } = {}) =>
  new ProviderFailure(kind, more);

describe("after a failure", () => {
  test.each<FailureKind>(["silent", "forbidden_address", "model_missing", "malformed", "differs"])(
    "of the kind '%s' the provider is not tried again, even if it says when",
    (kind) => {
      expect(pauseAfter(failure(kind), 0)).toBeUndefined();
      expect(pauseAfter(failure(kind, { retryAfterMs: 1, status: 503 }), 0)).toBeUndefined();
    },
  );

  test.each<FailureKind>(["unreachable", "busy", "failed"])(
    "of the kind '%s' it is tried again, at a random moment of a pause that doubles",
    (kind) => {
      fc.assert(
        fc.property(fc.nat(6), (failures) => {
          const pauseMs = pauseAfter(failure(kind), failures) ?? 0;
          expect(pauseMs).toBeGreaterThanOrEqual((250 * 2 ** failures) / 2);
          expect(pauseMs).toBeLessThan(250 * 2 ** failures);
        }),
      );
      const pauses = new Set(Array.from({ length: 20 }, () => pauseAfter(failure(kind), 3)));
      expect(pauses.size).toBeGreaterThan(1);
    },
  );

  test("of a busy provider the pause is the requested one, and it is not tried again if that is above 10 s", () => {
    const pauses = [0, 1, 10_000, 10_001].map((retryAfterMs) =>
      pauseAfter(failure("busy", { retryAfterMs }), 0),
    );
    expect(pauses).toEqual([0, 1, 10_000, undefined]);
  });

  test("of our credential it is tried at once with a new one, once, and only if the provider answered", () => {
    expect(pauseAfter(failure("credential", { status: 401 }), 0)).toBe(0);
    expect(pauseAfter(failure("credential", { status: 401 }), 1)).toBeUndefined();
    expect(pauseAfter(failure("credential"), 0)).toBeUndefined();
  });

  test("of a field that the router added it is tried at once without the field", () => {
    expect(pauseAfter(failure("field", { status: 400, retryAfterMs: 99_999 }), 2)).toBe(0);
  });
});

test("a provider that asked for a short pause is tried after it, and others at once", () => {
  const health = {
    circuit: "closed",
    isResting: false,
    latencyMs: undefined,
    tokensPerSecond: undefined,
    inFlight: 0,
    uptime: 1,
  } as const;
  const ends = [0, 1, 10_000, 10_001].map((restMs) => restEndMs({ ...health, restMs }, 500));
  expect(ends).toEqual([0, 501, 10_500, 0]);
});

describe("after a refusal of the length", () => {
  const withContext = (n: number, contextLength?: number) => ({
    provider: offer(n, { profile: { formats: ["openai"], contextLength } }),
  });

  test("only models with a known longer context stay, in their order", () => {
    const queue = [
      withContext(1, 100),
      withContext(2, 101),
      withContext(3),
      withContext(4, 50),
      withContext(5, 999),
    ];
    const [, second, , , fifth] = queue;
    expect(keepLarger(queue, withContext(9, 100).provider)).toBe(true);
    expect(queue).toEqual([second, fifth]);
  });

  test("none stays where the context of the refusing model is unknown, or none is longer", () => {
    for (const refused of [undefined, 999]) {
      const queue = [withContext(1, 100), withContext(2)];
      expect(keepLarger(queue, withContext(9, refused).provider)).toBe(false);
      expect(queue).toEqual([]);
    }
  });
});

describe("after a part of the answer", () => {
  const queue = () => [offer(1), offer(2, { model: "other" }), offer(3)].map((provider) => ({ provider }));
  const kept = (model: string, continues?: (provider: Provider) => boolean) => {
    const left = queue();
    keepContinuing(left, model, continues);
    return left.map(({ provider }) => provider.inputPrice);
  };

  test("only providers of the same model may continue it, in their order", () => {
    expect(kept("m")).toEqual([1n, 3n]);
    expect(kept("other")).toEqual([2n]);
    expect(kept("none")).toEqual([]);
  });

  test("and of these only those that can", () => {
    expect(kept("m", ({ inputPrice }) => inputPrice !== 1n)).toEqual([3n]);
    expect(kept("m", () => false)).toEqual([]);
  });
});

describe("the next candidate", () => {
  const candidate = (n: number, failures = 0, notBeforeMs = 0) => ({
    provider: offer(n),
    failures,
    notBeforeMs,
  });
  const never = () => false;
  const shutOff =
    (...shut: number[]) =>
    (provider: Provider) =>
      shut.some((n) => offer(n).address === provider.address);

  test("is the first of those that were not tried and are available soonest", () => {
    const queue = [candidate(1, 1, -5), candidate(2, 0, 20), candidate(3, 0, 10), candidate(4, 0, 10)];
    const taken = [1, 2, 3, 4].map(() => takeNext(queue, never));
    expect(taken.map((one) => one?.provider.inputPrice)).toEqual([3n, 4n, 2n, 1n]);
    expect(takeNext(queue, never)).toBeUndefined();
  });

  test("has no open circuit, unless all have: then it is the first", () => {
    const queue = () => [candidate(1), candidate(2), candidate(3)];
    expect(takeNext(queue(), shutOff(1, 2))?.provider.inputPrice).toBe(3n);
    expect(takeNext(queue(), shutOff(1, 2, 3))?.provider.inputPrice).toBe(1n);
    const tried = [candidate(1, 2), candidate(2, 0)];
    expect(takeNext(tried, shutOff(2))?.provider.inputPrice).toBe(1n);
  });

  test("is the only one that is left, even if it failed or its circuit is open", () => {
    for (const failures of [0, 1]) {
      const queue = [candidate(1, failures)];
      expect(takeNext(queue, shutOff(1))?.provider.inputPrice).toBe(1n);
      expect(queue).toEqual([]);
    }
  });

  test("leaves the queue, and the others stay in order", () => {
    const queue = [candidate(1, 0, 9), candidate(2), candidate(3)];
    const [first, , third] = queue;
    takeNext(queue, never);
    expect(queue).toEqual([first, third]);
  });
});
