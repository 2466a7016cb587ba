import { readFileSync } from "node:fs";
import type { Collateral } from "@phala/dcap-qvl";
import { expect, test } from "vitest";
import { AttestationsService } from "../../../src/inference/attestation/attestations.service.ts";
import type { ProviderListener } from "../../../src/inference/providers/exchange/provider-exchange.ts";
import type { Provider } from "../../../src/inference/providers/provider.ts";
import { createLogger } from "../../../src/kernel/log.ts";
import type { Hex } from "../../../src/kernel/text/hex.ts";
import { offer } from "../../support/inference/offers.ts";

const fixture = (name: string) =>
  readFileSync(new URL(`../../fixtures/attestation/${name}.json`, import.meta.url));
const COLLATERAL = JSON.parse(fixture("collateral").toString()) as Collateral;
const SIGNER: Hex = "0xdc1a4da6bdcd90c20d7ff53a6cdc11fbf0e2303c";
const NOW = new Date("2026-02-20T12:00:00Z");
const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

/** A service for one provider that answers with this body, and what was asked of it. */
function open(body: Buffer | undefined, fields: Partial<Provider> = {}) {
  const paths: string[] = [];
  const logged: string[] = [];
  const collateral = { kept: COLLATERAL };
  const clock = { now: () => NOW, monotonicMs: () => clock.nowMs, nowMs: 0 };
  const providers = [offer(1, { teeSigner: SIGNER, ...fields })];
  const service = new AttestationsService(
    {
      providers: {
        tlsKeysOf: () => [],
        get: async (_: Provider, path: string, listener: ProviderListener) => {
          paths.push(path);
          queueMicrotask(() => {
            if (!body) return listener.onError(new Error("unreachable"));
            listener.onHead({ status: 200, contentType: "application/json", responseKey: undefined });
            listener.onChunk(body);
            listener.onEnd();
          });
          return { abort: () => {}, pause: () => {}, resume: () => {} };
        },
      },
      catalogue: { providers: () => providers },
      collateral: {
        collateralFor: async () => collateral.kept,
        forget: () => {
          collateral.kept = COLLATERAL;
        },
      },
      clock,
      log: createLogger("info", { write: (line: string) => void logged.push(line) }),
    },
    { refreshMs: HOUR_MS, statuses: ["UpToDate"], allowed: [], failureLevel: "warn" },
  );
  const found = () => {
    const [provider] = providers;
    return provider && service.of(provider);
  };
  return { service, paths, clock, providers, collateral, logged, found };
}

test("a provider is appraised by its own report, and nothing is known before", async () => {
  const { service, paths, found } = open(fixture("broker"));
  expect(found()).toBeUndefined();
  await service.refresh();
  expect(paths).toEqual(["/quote"]);
  expect(found()).toMatchObject({
    isPassed: false,
    quote: "UpToDate",
    signerBound: true,
    measurement: "no_list",
    failures: ["The operator lists no software to accept."],
  });
});

test("a separate enclave is asked with a nonce of ours, and an old report does not have it", async () => {
  const targetSigner: Hex = "0x8a4d4984cf370210dfeefc773faf9bb0ede97cc0";
  const { service, paths, found } = open(fixture("model"), {
    profile: { formats: ["openai"], targetSigner },
  });
  await service.refresh();
  expect(paths[0]).toMatch(/^\/attestation\/report\?model=m&nonce=[0-9a-f]{64}$/);
  expect(found()).toMatchObject({ isPassed: false, signerBound: true, isFresh: false, gpu: "other_nonce" });
});

test("a result counts for its signer only, and not for longer than three intervals", async () => {
  const { service, clock, providers, found } = open(fixture("broker"));
  await service.refresh();
  clock.nowMs = 3 * HOUR_MS - 1;
  expect(found()).toBeDefined();
  clock.nowMs = 3 * HOUR_MS;
  expect(found()).toBeUndefined();
  clock.nowMs = 0;
  providers[0] = offer(1, { teeSigner: "0x8a4d4984cf370210dfeefc773faf9bb0ede97cc0" });
  expect(found()).toBeUndefined();
});

test("a provider that is listed later, or has a new signer, is not kept waiting for an hour", async () => {
  const { service, paths, providers, found } = open(fixture("broker"));
  const [listed] = providers.splice(0);
  await service.refresh();
  expect(paths).toEqual([]);
  if (listed) providers.push(listed);
  await service.refresh();
  expect(found()).toMatchObject({ quote: "UpToDate", signerBound: true });
  await service.refresh();
  expect(paths).toEqual(["/quote"]);
  providers[0] = offer(1, { teeSigner: "0x8a4d4984cf370210dfeefc773faf9bb0ede97cc0" });
  await service.refresh();
  expect(paths).toEqual(["/quote", "/quote"]);
  expect(found()).toMatchObject({ quote: "UpToDate", signerBound: false });
});

test("a report that cannot be read is fetched again soon, then less and less often, and logged once", async () => {
  const { service, paths, clock, logged } = open(undefined);
  const fetched: number[] = [];
  for (let minute = 0; minute <= 180; minute++) {
    clock.nowMs = minute * MINUTE_MS;
    const before = paths.length;
    await service.refresh();
    if (paths.length > before) fetched.push(minute);
  }
  expect(fetched).toEqual([0, 1, 3, 7, 15, 31, 63, 123]);
  expect(logged).toHaveLength(1);
});

test("a signer that was not acknowledged is not appraised", async () => {
  const { service, paths } = open(fixture("broker"), { teeAcknowledged: false });
  await service.refresh();
  expect(paths).toEqual([]);
});

test.each([
  ["gave no attestation report", undefined],
  ["malformed", Buffer.from("<html>")],
  ["Attestation failed", Buffer.from(JSON.stringify({ quote: "00".repeat(700) }))],
])("what fails is a failure of the attestation: %s", async (reason, body) => {
  const { service, found } = open(body);
  await service.refresh();
  expect(found()).toMatchObject({
    isPassed: false,
    quote: undefined,
    signerBound: false,
    measurement: "unproven",
  });
  expect(found()?.failures).toEqual([expect.stringContaining(reason)]);
});

test("collateral that does not verify a quote is not used for the next appraisal", async () => {
  const { service, clock, collateral, found } = open(fixture("broker"));
  collateral.kept = { ...COLLATERAL, tcb_info_signature: "00".repeat(64) };
  await service.refresh();
  expect(found()).toMatchObject({ quote: undefined, isPassed: false });
  clock.nowMs = MINUTE_MS;
  await service.refresh();
  expect(found()).toMatchObject({ quote: "UpToDate", signerBound: true });
});

test("an appraisal that a stop interrupts is neither kept nor logged", async () => {
  const { service, logged, found } = open(undefined);
  const refreshed = service.refresh();
  await service.stop();
  await refreshed;
  expect(found()).toBeUndefined();
  expect(logged).toEqual([]);
});
