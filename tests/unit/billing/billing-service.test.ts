import { createHash } from "node:crypto";
import { describe, expect, test } from "vitest";
import type { Settlement } from "../../../src/accounts/settlements.store.ts";
import type { ChargedCost } from "../../../src/inference/answer-cache/cache-request.ts";
import { Admitted } from "../../../src/inference/billing/admitted.ts";
import { BillingService } from "../../../src/inference/billing/billing.service.ts";
import type { Ending } from "../../../src/inference/billing/ending.ts";
import type { Trace } from "../../../src/inference/billing/trace.ts";
import { type EvidenceResult, nothing, type Verdict } from "../../../src/inference/evidence/tee-signature.ts";
import { ProviderFailure } from "../../../src/inference/providers/exchange/provider-failure.ts";
import type { EndedRequest } from "../../../src/inference/requests/request-observer.ts";
import type { RequestTrace } from "../../../src/inference/requests/request-trace.ts";
import type { PromptCachesService } from "../../../src/inference/routing/prompt-caches.service.ts";
import type { Affinity } from "../../../src/inference/routing/ranking.ts";
import { AppError } from "../../../src/kernel/errors.ts";
import { ClientExchange } from "../../../src/receipts/client-exchange.ts";
import { addressOf, offer } from "../../support/inference/offers.ts";

const [FIRST, SECOND] = [offer(2, { outputPrice: 3n }), offer(5, { isCentralized: true })];
const REFUSED = [{ provider: addressOf(9), reason: "unroutable" }] as const;

/** A request admitted with two candidates at time 100, on a clock that the test sets. */
function admit({
  verifyTee,
  fallbackModels,
  ...given
}: {
  verifyTee?: boolean;
  fallbackModels?: readonly string[];
} & Partial<ConstructorParameters<typeof Admitted>[0]> = {}) {
  const clock = { nowMs: 100 };
  const admitted = new Admitted({
    requestId: "request-1",
    account: "account-1",
    request: {
      model: "m",
      preferences: { fallbackModels },
      verifyTee,
      body: (provider: object, heldNeuron: bigint) => Buffer.from(`${provider === FIRST} ${heldNeuron}`),
    } as never,
    candidates: [FIRST, SECOND],
    refused: REFUSED,
    heldNeuron: 1_000n,
    clock: { now: () => new Date(0), monotonicMs: () => clock.nowMs },
    startedMs: 100,
    ...given,
  });
  return { admitted, at: (ms: number) => Object.assign(clock, { nowMs: 100 + ms }) };
}

/** A billing service that charges the cost, or the given amount, and records what it receives. */
function openBilling({
  charged,
  verdict = "verified",
  result = { form: "hashes", requestBound: false, responseBound: verdict === "verified" },
  hitCost,
}: {
  charged?: bigint;
  verdict?: Verdict;
  result?: Omit<EvidenceResult, "verdict">;
  hitCost?: (cost: ChargedCost) => ChargedCost;
} = {}) {
  const settled: Settlement[] = [];
  const observed: EndedRequest[] = [];
  const checked: object[] = [];
  const remembered: Parameters<PromptCachesService["answered"]>[] = [];
  const billing = new BillingService({
    holds: {
      settle: async (settlement) => {
        settled.push(settlement);
        return charged ?? settlement.inputCost + settlement.outputCost;
      },
    },
    evidence: {
      check: async (answer) => {
        checked.push(answer);
        return { verdict, ...result };
      },
    },
    promptCaches: { answered: (...answer) => void remembered.push(answer) },
    observer: { ended: (request) => void observed.push(request) },
    hitCost,
  });
  return { billing, settled, observed, checked, remembered };
}

const usage = { inputTokens: 10, outputTokens: 4, cache: { read: 1, write: 0, write1h: 0 } };

describe("a request whose settlement fails", () => {
  const away = new AppError("unavailable", "The database is unreachable. Try again later.");

  test.for([
    [true, "unavailable"],
    [false, "completed"],
  ] as const)(
    "is observed once, as it will be recorded (undelivered: %s)",
    async ([isUndelivered, outcome]) => {
      const observed: EndedRequest[] = [];
      let failures = 1;
      const billing = new BillingService({
        holds: {
          async settle() {
            if (failures-- > 0) throw away;
            return 0n;
          },
        },
        evidence: { check: async () => nothing("unreachable") },
        promptCaches: { answered: () => {} },
        observer: { ended: (request) => void observed.push(request) },
      });
      const { admitted } = admit();
      admitted.beginAttempt(FIRST);
      await expect(billing.settle(admitted, { outcome: "completed", usage, isUndelivered })).rejects.toBe(
        away,
      );
      await billing.settle(admitted, { outcome: "failed", errorCode: "unavailable" });
      expect(observed).toMatchObject([{ outcome }]);
    },
  );
});

describe("a completed request", () => {
  test("is charged at the price of the provider that answered, and its row says how it was routed", async () => {
    const { admitted, at } = admit();
    const { billing, settled } = openBilling();
    admitted.beginAttempt(FIRST);
    at(30);
    admitted.endAttempt("failed", new ProviderFailure("busy", { status: 429 }));
    admitted.beginAttempt(SECOND);
    at(45);
    admitted.markFirstByte();
    at(95.4);
    await billing.settle(admitted, { outcome: "completed", usage });
    expect(settled).toStrictEqual([
      {
        id: "request-1",
        outcome: "completed",
        inputTokens: 10,
        outputTokens: 4,
        cache: usage.cache,
        units: undefined,
        usageEstimated: false,
        inputCost: 50n,
        outputCost: 20n,
        errorCode: undefined,
        firstByteMs: 45,
        durationMs: 95,
        answeredBy: {
          provider: SECOND.address,
          model: "m",
          inputPrice: 5n,
          outputPrice: 5n,
          trustMode: "verified",
        },
        routing: {
          attempts: [
            {
              provider: FIRST.address,
              outcome: "failed",
              reason: "busy",
              status: 429,
              startMs: 0,
              durationMs: 30,
            },
            { provider: SECOND.address, outcome: "answered", startMs: 30, durationMs: 65 },
          ],
          refused: REFUSED,
          streamed: false,
          admittedMs: 0,
        },
        receipt: expect.objectContaining({ endpoint: "/graphql", awaitsReturned: false }),
      },
    ]);
  });

  test("is charged at the price of the tier of its prompt, and shows that price", async () => {
    const { admitted } = admit();
    const { billing, settled } = openBilling();
    const tiers = [{ maxInputTokens: 10, inputPrice: 1n, outputPrice: 1n }];
    await billing.settle(admitted, { outcome: "completed", usage, provider: offer(7, { tiers }) });
    expect(settled[0]).toMatchObject({
      inputCost: 10n,
      outputCost: 4n,
      answeredBy: { provider: addressOf(7), inputPrice: 1n, outputPrice: 1n, trustMode: "private" },
    });
    const short = [{ maxInputTokens: 9, inputPrice: 1n, outputPrice: 1n }];
    const provider = offer(7, { tiers: short });
    await billing.settle(admit().admitted, { outcome: "completed", usage, provider });
    expect(settled[1]).toMatchObject({ inputCost: 70n, answeredBy: { inputPrice: 7n, outputPrice: 7n } });
  });

  test("of images or seconds is charged by their number", async () => {
    const { admitted } = admit();
    const { billing, settled } = openBilling();
    await billing.settle(admitted, { outcome: "completed", usage: { inputUnits: 1, outputUnits: 3 } });
    expect(settled[0]).toMatchObject({ units: 4, inputCost: 2n, outputCost: 9n, inputTokens: undefined });
    expect(settled[0]).not.toHaveProperty("cache");
  });

  test("shows the client what was charged, which may be less than its cost", async () => {
    const shown = async (charged?: bigint) => {
      const { billing } = openBilling(charged === undefined ? {} : { charged });
      const { admitted } = admit();
      return billing.settle(admitted, { outcome: "completed", usage });
    };
    const bill = (input_cost: string, output_cost: string, total_cost: string, more = {}) => ({
      request_id: "request-1",
      provider: FIRST.address,
      billing: { input_cost, output_cost, total_cost, ...more },
    });
    // What the cache saved is then unknown.
    const unknown = { cache_saving: null };
    expect(await shown()).toStrictEqual(bill("20", "12", "32"));
    expect(await shown(25n)).toStrictEqual(bill("20", "5", "25", unknown));
    expect(await shown(0n)).toStrictEqual(bill("0", "0", "0", unknown));
  });

  test("says whether its signature is valid, if the client asked for it", async () => {
    const ending: Ending = { outcome: "completed", usage, answerId: "answer-1" };
    for (const verdict of ["verified", "unbound"] as const) {
      const { billing, checked } = openBilling({ verdict });
      const { admitted } = admit({ verifyTee: true });
      expect(admitted.isVerified).toBe(true);
      expect(await billing.settle(admitted, ending)).toMatchObject({
        tee_verified: verdict === "verified",
        tee_evidence: {
          verdict,
          form: "hashes",
          request_bound: false,
          response_bound: verdict === "verified",
        },
      });
      expect(checked).toEqual([
        {
          requestId: "request-1",
          account: "account-1",
          provider: FIRST,
          answerId: "answer-1",
          hashes: undefined,
        },
      ]);
    }
    const { billing, checked } = openBilling();
    const unasked = admit().admitted;
    expect(unasked.isVerified).toBe(false);
    expect(await billing.settle(unasked, ending)).not.toHaveProperty("tee_verified");
    const aborted = admit({ verifyTee: true }).admitted;
    expect(await billing.settle(aborted, { ...ending, outcome: "aborted" })).not.toHaveProperty(
      "tee_verified",
    );
    expect(checked).toEqual([]);
  });
});

test("the hashes of the exchange are compared with the signature of a provider that has a signer", async () => {
  const images = async () => ["00"];
  for (const isCompared of [true, false]) {
    const { billing, checked } = openBilling();
    const { admitted } = admit({ verifyTee: true });
    admitted.beginAttempt({ ...FIRST, teeAcknowledged: isCompared });
    admitted.hasher?.sent(Buffer.from("{}"));
    admitted.hasher?.end();
    await billing.settle(admitted, { outcome: "completed", usage, imageHashes: images });
    const { hashes } = checked[0] as { hashes?: Promise<object> };
    expect(hashes !== undefined).toBe(isCompared);
    if (hashes) expect(await hashes).toMatchObject({ images });
  }
});

test("what could not be compared is not stated about an answer's signature", async () => {
  const { billing } = openBilling({ verdict: "missing", result: nothing("missing") });
  const { admitted } = admit({ verifyTee: true });
  const trace = await billing.settle(admitted, { outcome: "completed", usage });
  expect(trace).toMatchObject({ tee_verified: false });
  expect(trace.tee_evidence).toStrictEqual({ verdict: "missing" });
});

test("the bill names the model that answered, if the request names several", async () => {
  const { admitted } = admit({ fallbackModels: ["other"] });
  const { billing, settled } = openBilling();
  admitted.beginAttempt(offer(3, { model: "other" }));
  expect(await billing.settle(admitted, { outcome: "completed", usage })).toMatchObject({ model: "other" });
  expect(settled[0]?.routing).toMatchObject({ attempts: [{ model: "other" }] });
  for (const given of [{}, { fallbackModels: [] }])
    expect(await billing.settle(admit(given).admitted, { outcome: "completed", usage })).not.toHaveProperty(
      "model",
    );
});

test("the bill states what the provider's cache saved, if that is anything", async () => {
  const bill = async (read: bigint, tokens: number) => {
    const provider = offer(7, { cachePrice: { read } });
    const cached = { ...usage, cache: { read: tokens, write: 0, write1h: 0 } };
    const { billing } = openBilling();
    return (await billing.settle(admit().admitted, { outcome: "completed", usage: cached, provider }))
      .billing;
  };
  expect(await bill(2n, 4)).toStrictEqual({
    input_cost: "50",
    output_cost: "28",
    total_cost: "78",
    cache_saving: "20",
  });
  expect(await bill(2n, 0)).not.toHaveProperty("cache_saving");
  expect(await bill(7n, 4)).not.toHaveProperty("cache_saving");
});

describe("a stored answer", () => {
  const cached = {
    requestId: "request-0",
    provider: SECOND.address,
    model: "m",
    cost: { input: 40n, output: 8n },
    answer: {} as never,
  };
  const served = (given: Parameters<typeof admit>[0] = {}) => {
    const { admitted } = admit({ affinity: { conversation: "c", warm: undefined }, ...given });
    admitted.markCacheUse(
      { status: "hit", requestId: "request-0", ageSeconds: 3 },
      { cached, provider: SECOND },
    );
    return admitted;
  };

  test("costs what its request was charged, at the price of a hit, and says whose answer it is", async () => {
    for (const [hitCost, total] of [
      [undefined, 48n],
      [({ input, output }: ChargedCost) => ({ input: input / 4n, output: output / 4n }), 12n],
    ] as const) {
      const { billing, settled, remembered } = openBilling(hitCost && { hitCost });
      const trace = await billing.settle(served(), { outcome: "completed", usage });
      expect(trace).toMatchObject({
        provider: SECOND.address,
        cached_from: "request-0",
        billing: { total_cost: `${total}` },
      });
      expect(trace.billing).not.toHaveProperty("cache_saving");
      expect(trace).not.toHaveProperty("tee_verified");
      expect(settled[0]).toMatchObject({ routing: { cachedFrom: "request-0" } });
      expect((settled[0]?.inputCost ?? 0n) + (settled[0]?.outputCost ?? 0n)).toBe(total);
      expect(remembered).toEqual([]);
    }
  });

  test("has its whole cost in the bill that the answer ends with", async () => {
    const client = new ClientExchange("/v1/chat/completions", Buffer.from("{}"), 1, { add: () => {} });
    const totals: string[] = [];
    const closing = ({ billing }: Trace) => {
      totals.push(billing.total_cost);
      return Buffer.from("");
    };
    await openBilling().billing.settle(served({ client }), { outcome: "completed", usage, closing });
    expect(totals).toEqual(["48"]);
  });

  test("of which the client took a part costs what that part is worth", async () => {
    const { billing, settled } = openBilling({
      hitCost: ({ input, output }) => ({ input, output: output / 2n }),
    });
    await billing.settle(served(), { outcome: "aborted", usage });
    expect(settled[0]).toMatchObject({ inputCost: 50n, outputCost: 10n });
  });

  test("is never verified, and says so", async () => {
    const { billing, checked } = openBilling();
    const trace = await billing.settle(served({ verifyTee: true }), { outcome: "completed", usage });
    expect(trace).toMatchObject({ tee_verified: false });
    expect(trace).not.toHaveProperty("tee_evidence");
    expect(checked).toEqual([]);
  });

  test("and a new one are kept with their bills for the client's cache", async () => {
    const cache = { name: "n", maxAgeSeconds: 1, key: {} as never };
    const { billing } = openBilling();
    const admitted = served({ cache });
    const bill = await billing.settle(admitted, { outcome: "completed", usage });
    expect(admitted.ended).toStrictEqual({ outcome: "completed", provider: SECOND, bill });
    const without = admit().admitted;
    await billing.settle(without, { outcome: "completed", usage });
    expect(without.ended).toBeUndefined();
  });
});

describe("the receipt of a request over REST", () => {
  const last = Buffer.from("last bytes");
  function admitFrom(given: Parameters<typeof admit>[0] = {}) {
    const completed: [string, string][] = [];
    const client = new ClientExchange("/v1/chat/completions", Buffer.from("{}"), 1.4, {
      add: (requestId, digest) => void completed.push([requestId, digest]),
    });
    return { ...admit({ client, ...given }), client, completed };
  }

  test("commits to the last bytes that the client is sent, which state the bill", async () => {
    const { admitted, client, completed } = admitFrom();
    const { billing, settled } = openBilling();
    const bills: object[] = [];
    const closing = (bill: object) => {
      bills.push(bill);
      return last;
    };
    const bill = await billing.settle(admitted, { outcome: "completed", usage, closing });
    expect(bills).toEqual([bill]);
    expect(settled[0]?.receipt).toMatchObject({
      endpoint: "/v1/chat/completions",
      returned: createHash("sha256").update(last).digest("hex"),
      awaitsReturned: true,
    });
    expect(settled[0]?.routing).toMatchObject({ receivedMs: 1 });
    client.sent(last);
    client.end();
    expect(completed).toEqual([]);
  });

  test("follows what was sent where less was charged, so that other bytes were", async () => {
    const { admitted, client, completed } = admitFrom();
    const { billing } = openBilling({ charged: 1n });
    await billing.settle(admitted, { outcome: "completed", usage, closing: () => last });
    client.sent(last);
    client.end();
    expect(completed).toEqual([["request-1", createHash("sha256").update(last).digest("hex")]]);
  });

  test("does not state the last bytes where they are not known", async () => {
    const { billing, settled } = openBilling();
    await billing.settle(admitFrom().admitted, { outcome: "completed", usage });
    expect(settled[0]?.receipt).toMatchObject({ returned: undefined, awaitsReturned: true });
  });

  test("does not state the last bytes of an answer that is verified, as they depend on that", async () => {
    const { admitted } = admitFrom({ verifyTee: true });
    const { billing, settled } = openBilling();
    await billing.settle(admitted, { outcome: "completed", usage, closing: () => last });
    expect(settled[0]?.receipt).toMatchObject({ returned: undefined, awaitsReturned: true });
  });
});

describe("a request that was not completed", () => {
  test("is charged for what was delivered, with the reason of its end", async () => {
    const { admitted, at } = admit();
    const { billing, settled, observed } = openBilling();
    admitted.beginAttempt(FIRST);
    at(20);
    const ending: Ending = { outcome: "failed", usage, estimated: true, errorCode: "provider_error" };
    await billing.settle(admitted, ending);
    expect(settled[0]).toMatchObject({
      outcome: "failed",
      errorCode: "provider_error",
      usageEstimated: true,
      inputCost: 20n,
      outputCost: 12n,
      routing: { attempts: [{ provider: FIRST.address, outcome: "failed", durationMs: 20 }] },
    });
    expect(observed[0]).toMatchObject({
      outcome: "provider_error",
      tries: 1,
      inputTokens: 10,
      outputTokens: 4,
    });
  });

  test("costs nothing if nothing was delivered", async () => {
    const { admitted } = admit();
    const { billing, settled, observed } = openBilling();
    const trace = await billing.settle(admitted, { outcome: "aborted", errorCode: "client_closed" });
    expect(trace.billing.total_cost).toBe("0");
    expect(settled[0]).toMatchObject({
      inputTokens: undefined,
      inputCost: 0n,
      outputCost: 0n,
      units: undefined,
    });
    expect(observed[0]).toMatchObject({ outcome: "aborted", tries: 0, inputTokens: undefined });
    await billing.settle(admit().admitted, { outcome: "failed" });
    expect(observed[1]).toMatchObject({ outcome: "failed", serviceType: "chatbot", model: "m" });
  });
});

test("the provider that answers a conversation is remembered, whatever was expected, unless nothing was delivered", async () => {
  const affinity = { conversation: "c", warm: { provider: FIRST.address, tokens: 5 } };
  const { billing, settled, remembered } = openBilling();
  const settle = async (ending: Ending, given: { affinity?: Affinity } = { affinity }) => {
    const { admitted } = admit(given);
    admitted.beginAttempt(FIRST);
    admitted.beginAttempt(SECOND);
    await billing.settle(admitted, ending);
  };
  await settle({ outcome: "completed", usage });
  await settle({ outcome: "completed", usage, estimated: true });
  await settle({ outcome: "aborted", usage });
  await settle({ outcome: "failed", usage });
  await settle({ outcome: "aborted" });
  await settle({ outcome: "completed", usage }, {});
  await settle({ outcome: "completed", usage: { inputUnits: 1, outputUnits: 1 } });
  expect(remembered).toEqual([
    ["c", SECOND, usage, { isStated: true }],
    ["c", SECOND, usage, { isStated: false }],
    ["c", SECOND, usage, { isStated: false }],
  ]);
  expect(settled[0]?.routing).toMatchObject({ cachedBy: FIRST.address });
  expect(settled.at(-2)?.routing).not.toHaveProperty("cachedBy");
});

test("the span of a request contains its settlement and ends with it, even if it fails", async () => {
  const seen: string[] = [];
  const trace = {
    run: (work: () => unknown) => {
      seen.push("run");
      return work();
    },
    settled: ({ provider }: { provider: { address: string } }) => seen.push(`settled ${provider.address}`),
  } as unknown as RequestTrace;
  const failing = new BillingService({
    holds: { settle: () => Promise.reject(new Error("out of reach")) },
    evidence: { check: async () => nothing("missing") },
    promptCaches: { answered: () => {} },
  });
  const { admitted } = admit({ trace });
  await expect(failing.settle(admitted, { outcome: "completed", usage })).rejects.toThrow("out of reach");
  expect(seen).toEqual(["run", `settled ${FIRST.address}`]);
});
