import { expect, test } from "vitest";
import type { Admitted } from "../../../src/inference/billing/admitted.ts";
import { FailoverService } from "../../../src/inference/dispatch/failover.service.ts";
import {
  type FailureKind,
  ProviderFailure,
} from "../../../src/inference/providers/exchange/provider-failure.ts";
import { HealthService } from "../../../src/inference/providers/health/health.service.ts";
import type { Provider } from "../../../src/inference/providers/provider.ts";
import { systemClock } from "../../../src/kernel/clock.ts";
import { retryAfterOf } from "../../../src/kernel/text/retry-after.ts";

const PROVIDER = { address: "0x01", url: "https://a.example.com", model: "m" } as unknown as Provider;
const COOL_DOWN_MS = 1_000;

function start() {
  let nowMs = 0;
  const health = new HealthService({
    clock: { now: () => new Date(nowMs), monotonicMs: () => nowMs },
    coolDownMs: COOL_DOWN_MS,
  });
  const fail = (kind: FailureKind = "failed", retryAfterMs?: number) =>
    health.begin(PROVIDER).fail(new ProviderFailure(kind, { retryAfterMs }));
  const pass = (ms: number) => {
    nowMs += ms;
  };
  return { health, fail, pass, circuit: () => health.of(PROVIDER).circuit };
}

test("a circuit opens at the third consecutive failure, and a success resets the count", () => {
  const { health, fail, circuit } = start();
  fail();
  fail();
  health.begin(PROVIDER).succeed();
  fail();
  fail();
  expect(circuit()).toBe("closed");
  fail();
  expect(circuit()).toBe("open");
});

test("after a pause one request probes the provider: success closes the circuit, failure doubles the pause, up to fourfold", () => {
  const { health, fail, pass, circuit } = start();
  for (let n = 0; n < 3; n++) fail();
  for (const pauses of [1, 2, 4, 4]) {
    pass(COOL_DOWN_MS * pauses - 1);
    expect(circuit()).toBe("open");
    pass(1);
    expect(circuit()).toBe("half-open");
    const probe = health.begin(PROVIDER);
    expect(circuit()).toBe("open");
    probe.fail(new ProviderFailure("failed"));
    expect(circuit()).toBe("open");
  }
  pass(COOL_DOWN_MS * 4);
  health.begin(PROVIDER).succeed();
  expect(circuit()).toBe("closed");
});

test("a probe whose client disconnects decides nothing: the next request probes", () => {
  const { health, fail, pass, circuit } = start();
  for (let n = 0; n < 3; n++) fail();
  pass(COOL_DOWN_MS);
  health.begin(PROVIDER).drop();
  expect(circuit()).toBe("half-open");
});

test("a circuit stays open until every request that probes it has ended", () => {
  const { health, fail, pass, circuit } = start();
  for (let n = 0; n < 3; n++) fail();
  const [early, late] = [health.begin(PROVIDER), health.begin(PROVIDER)];
  pass(COOL_DOWN_MS);
  early.drop();
  expect(circuit()).toBe("open");
  late.drop();
  expect(circuit()).toBe("half-open");
});

test("a busy provider is skipped for its Retry-After time, and its circuit stays closed", () => {
  const { health, fail, pass, circuit } = start();
  for (let n = 0; n < 9; n++) fail("busy", 2_000);
  expect(circuit()).toBe("closed");
  expect(health.of(PROVIDER).isResting).toBe(true);
  pass(2_000);
  expect(health.of(PROVIDER).isResting).toBe(false);
});

test("the Retry-After of a request in flight does not end the longer pause of an operator", () => {
  const { health, pass } = start();
  const inFlight = health.begin(PROVIDER);
  health.rest(PROVIDER, 3_600_000);
  inFlight.fail(new ProviderFailure("busy", { retryAfterMs: 1_000 }));
  pass(1_000);
  expect(health.of(PROVIDER)).toMatchObject({ isResting: true, restMs: 3_599_000 });
  health.close(PROVIDER);
  expect(health.of(PROVIDER).isResting).toBe(false);
});

test("an address that is not allowed opens the circuit at once", () => {
  const { fail, circuit } = start();
  fail("forbidden_address");
  expect(circuit()).toBe("open");
});

test("a request without a credential, which is not sent, opens the circuit and is no failed request of the provider", () => {
  const ended: boolean[] = [];
  const health = new HealthService({
    clock: { now: () => new Date(0), monotonicMs: () => 0 },
    coolDownMs: COOL_DOWN_MS,
    observer: { firstByte() {}, ended: (_, isAnswered) => void ended.push(isAnswered) },
  });
  const fail = (status?: number) => {
    const failure = new ProviderFailure("credential", status === undefined ? {} : { status });
    health.begin(PROVIDER).fail(failure);
  };
  for (let n = 0; n < 3; n++) fail();
  expect(health.of(PROVIDER)).toMatchObject({ circuit: "open", uptime: undefined });
  expect(ended).toEqual([]);
  fail(401);
  expect([health.of(PROVIDER).uptime, ended]).toEqual([0, [false]]);
});

test("latency follows the measurements and expires after ten minutes; running requests are counted, and each ends once", () => {
  const { health, pass } = start();
  const trial = health.begin(PROVIDER);
  pass(100);
  trial.firstByte();
  expect(health.of(PROVIDER)).toMatchObject({ latencyMs: 100, inFlight: 1, uptime: undefined });
  trial.succeed();
  trial.succeed();
  trial.fail(new ProviderFailure("failed"));
  expect(health.of(PROVIDER)).toMatchObject({ inFlight: 0, uptime: 1, circuit: "closed" });
  const slower = health.begin(PROVIDER);
  pass(600);
  slower.firstByte();
  slower.succeed();
  expect(health.of(PROVIDER).latencyMs).toBeCloseTo(200);
  pass(600_000);
  expect(health.of(PROVIDER).latencyMs).toBeUndefined();
});

test("a provider that moved to another URL starts with a clean record", () => {
  const { health, fail } = start();
  for (let n = 0; n < 3; n++) fail();
  expect(health.of({ ...PROVIDER, url: "https://b.example.com" }).circuit).toBe("closed");
});

test("Retry-After is read as seconds or as a date, and anything else is ignored", () => {
  expect(retryAfterOf("2")).toBe(2_000);
  expect(retryAfterOf("0.5")).toBe(500);
  expect(retryAfterOf("999999999")).toBe(3_600_000);
  const sent = "Sun, 06 Nov 1994 08:49:37 GMT";
  expect(retryAfterOf("Sun, 06 Nov 1994 08:49:47 GMT", sent)).toBe(10_000);
  expect(retryAfterOf("Sun, 06 Nov 1994 08:49:17 GMT", sent)).toBe(0);
  const soon = retryAfterOf(new Date(Date.now() + 5_000).toUTCString());
  expect(soon).toBeGreaterThan(3_000);
  expect(soon).toBeLessThanOrEqual(5_000);
  expect(retryAfterOf(new Date(0).toUTCString())).toBe(0);
  for (const nonsense of ["soon", "-1", "1e3", "", "NaN"]) expect(retryAfterOf(nonsense)).toBeUndefined();
});

test("of requests admitted at once with a half-open provider first, one probes it and the others go elsewhere; without an alternative all go to it", async () => {
  const { health, fail, pass, circuit } = start();
  for (let n = 0; n < 3; n++) fail();
  pass(COOL_DOWN_MS);
  expect(circuit()).toBe("half-open");
  const clock = systemClock;
  const needs = { health, clock, log: {}, tries: 3, totalMs: 60_000 } as const;
  const failover = new FailoverService(needs as unknown as ConstructorParameters<typeof FailoverService>[0]);
  const other = { ...PROVIDER, address: "0x02", url: "https://b.example.com" } as Provider;
  const probed = Promise.withResolvers<void>();
  const admitted = (candidates: readonly Provider[]) =>
    ({ candidates, beginAttempt() {}, endAttempt() {}, markFirstByte() {} }) as unknown as Admitted;
  const ask = (candidates: readonly Provider[]) =>
    failover.run(admitted(candidates), new AbortController().signal, async ({ provider }) => {
      if (provider === PROVIDER) await probed.promise;
      return provider.address;
    });
  const asked = [ask([PROVIDER, other]), ask([PROVIDER, other]), ask([PROVIDER, other]), ask([PROVIDER])];
  await Promise.all([asked[1], asked[2]]);
  expect(circuit()).toBe("open");
  expect(health.of(PROVIDER).inFlight).toBe(2);
  probed.resolve();
  expect(await Promise.all(asked)).toEqual(["0x01", "0x02", "0x02", "0x01"]);
  expect(circuit()).toBe("closed");
});

test("tokens per second are those of whole answers, without short ones, and expire after ten minutes", () => {
  const { health, pass } = start();
  const answer = (tokens: number, ms: number) => {
    const trial = health.begin(PROVIDER);
    pass(ms);
    trial.answered(tokens);
    trial.succeed();
  };
  answer(15, 1);
  expect(health.of(PROVIDER).tokensPerSecond).toBeUndefined();
  answer(100, 2_000);
  expect(health.of(PROVIDER).tokensPerSecond).toBeCloseTo(50);
  answer(200, 2_000);
  expect(health.of(PROVIDER).tokensPerSecond).toBeCloseTo(60);
  pass(600_000);
  expect(health.of(PROVIDER).tokensPerSecond).toBeUndefined();
});

test("operators see since when a circuit is open and why, and may close it or pause a provider", () => {
  const { health, fail, pass, circuit } = start();
  const report = () => health.report([PROVIDER, { ...PROVIDER, model: "never asked" }]);
  expect(report()).toEqual([]);
  const at = (ms: number) => new Date(ms).toISOString();
  pass(100);
  fail("busy");
  expect(report()).toEqual([]);
  for (const kind of ["silent", "failed", "malformed"] as const) {
    pass(100);
    fail(kind);
  }
  const known = { provider: "0x01", model: "m", restsUntil: null };
  const lastFailure = { kind: "malformed", at: at(400) } as const;
  expect(report()).toEqual([{ ...known, state: "open", openedAt: at(400), lastFailure }]);
  // A failed probe does not start over.
  pass(COOL_DOWN_MS);
  fail("failed");
  expect(report()).toMatchObject([{ state: "open", openedAt: at(400), lastFailure: { kind: "failed" } }]);

  health.close(PROVIDER);
  expect(circuit()).toBe("closed");
  expect(report()).toEqual([]);
  fail();
  fail();
  expect(circuit()).toBe("closed");

  health.rest(PROVIDER, 2_000);
  expect(health.of(PROVIDER)).toMatchObject({ isResting: true, restMs: 2_000 });
  expect(report()).toMatchObject([{ state: "closed", restsUntil: at(3_400) }]);
  pass(2_000);
  expect(health.of(PROVIDER).isResting).toBe(false);
  // The failures are reported for an hour.
  expect(report()).toMatchObject([{ restsUntil: null, lastFailure: { kind: "failed" } }]);
  pass(3_600_000);
  expect(report()).toEqual([]);
});
