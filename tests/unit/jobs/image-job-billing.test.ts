import { describe, expect, test } from "vitest";
import type { Settlement } from "../../../src/accounts/settlements.store.ts";
import type { CheckedAnswer } from "../../../src/inference/evidence/evidence.service.ts";
import { nothing } from "../../../src/inference/evidence/tee-signature.ts";
import { ImageJobState } from "../../../src/inference/images/jobs/image-job.state.ts";
import { ImageJobBillingService } from "../../../src/inference/images/jobs/image-job-billing.service.ts";
import { type ImageJobCheckpoint, UNTRIED } from "../../../src/inference/images/jobs/image-job-plan.ts";
import type { EndedRequest } from "../../../src/inference/requests/request-observer.ts";
import type { JobEnd, JobLease } from "../../../src/jobs/lease.ts";
import { addressOf, offer } from "../../support/inference/offers.ts";

const CANDIDATE = {
  address: addressOf(1),
  inputPrice: "2",
  outputPrice: "70",
  trustMode: "verified",
} as const;
const ATTEMPT = { candidate: CANDIDATE, attempt: 2 };
const REFUSED = [{ provider: addressOf(9), reason: "unroutable" }] as const;
const EARLIER = { provider: addressOf(4), outcome: "failed", durationMs: 30 } as const;
const IMAGES = {
  result: Buffer.from("{}"),
  images: 3,
  answerId: "answer-1",
  requestHash: "sent",
  responseHash: "received",
};
const RECEIPT = expect.objectContaining({ endpoint: "/v1/async/images/generations", awaitsReturned: false });
const FAILURE = { code: "provider_error", message: "The provider failed." };

/** A job of three images, 100.4 ms old, and a billing service on holds that were placed or have expired. */
function openJob({ verifyTee = false, isOpen = true, isKnown = true } = {}) {
  const seen: {
    settled: Settlement[];
    ends: JobEnd[];
    observed: EndedRequest[];
    checked: object[];
    saved: object[];
  } = { settled: [], ends: [], observed: [], checked: [], saved: [] };
  const checkpoint: ImageJobCheckpoint = { ...UNTRIED, failures: 1, attempts: [EARLIER] };
  const lease = {
    job: {
      id: "job-1",
      requestId: "request-1",
      body: Buffer.from("{}"),
      spec: {
        operation: "generations",
        model: "painter",
        images: 3,
        verifyTee,
        refused: REFUSED,
        candidates: [CANDIDATE],
      },
      checkpoint,
    },
    ageMs: 100.4,
    save: async (saved: object) => void seen.saved.push(saved),
    end: async (decide: (tx: object) => Promise<JobEnd>) => void seen.ends.push(await decide({})),
  } as unknown as JobLease;
  const billing = new ImageJobBillingService({
    holds: {
      settleIn: async (_tx, settlement) => {
        seen.settled.push(settlement);
        return isOpen ? settlement.outputCost : undefined;
      },
    },
    catalogue: { provider: () => (isKnown ? offer(1) : undefined) },
    evidence: {
      check: async (answer) => {
        seen.checked.push(answer);
        return nothing("missing");
      },
    },
    bodies: { hashImages: async () => ["image"] },
    observer: { ended: (request) => void seen.observed.push(request) },
    retentionSeconds: 60,
  });
  const state = new ImageJobState(lease);
  return { billing, state, seen };
}

const settlement = {
  id: "request-1",
  inputTokens: undefined,
  outputTokens: undefined,
  usageEstimated: false,
  inputCost: 0n,
  firstByteMs: undefined,
  durationMs: 100,
};

describe("a completed job", () => {
  test("is charged for its images at the price of its admission, and its result is stored", async () => {
    const { billing, state, seen } = openJob();
    await billing.complete(state, ATTEMPT, IMAGES);
    const attempts = [EARLIER, { provider: addressOf(1), outcome: "answered", durationMs: 70 }];
    expect(seen.settled).toStrictEqual([
      {
        receipt: RECEIPT,
        ...settlement,
        outcome: "completed",
        errorCode: undefined,
        units: 3,
        outputCost: 210n,
        answeredBy: { provider: addressOf(1), inputPrice: 2n, outputPrice: 70n, trustMode: "verified" },
        routing: { attempts, refused: REFUSED, streamed: false },
      },
    ]);
    expect(seen.ends).toStrictEqual([
      {
        state: "completed",
        result: IMAGES.result,
        retentionSeconds: 60,
        change: {
          provider: addressOf(1),
          attempt: 2,
          errorCode: null,
          errorMessage: null,
          fraction: 1,
          result: `/v1/async/jobs/job-1?provider_address=${addressOf(1)}`,
        },
      },
    ]);
    expect(seen.saved).toMatchObject([{ answerId: "answer-1", failures: 1 }]);
    expect(seen.observed).toStrictEqual([
      {
        serviceType: "text-to-image",
        model: "painter",
        outcome: "completed",
        inputTokens: undefined,
        outputTokens: undefined,
        tries: 2,
        firstByteMs: undefined,
        durationMs: 100,
      },
    ]);
  });

  test.each([
    [1, 70n],
    [3, 210n],
    [10, 210n],
  ])("with %i images of the three ordered costs %s", async (images, cost) => {
    const { billing, state, seen } = openJob();
    await billing.complete(state, ATTEMPT, { ...IMAGES, images });
    expect(seen.settled[0]).toMatchObject({ units: Math.min(images, 3), outputCost: cost });
  });

  test("whose hold has expired fails without a result", async () => {
    const { billing, state, seen } = openJob({ isOpen: false });
    await billing.complete(state, ATTEMPT, IMAGES);
    const change = {
      provider: addressOf(1),
      attempt: 2,
      errorCode: "provider_error",
      errorMessage: "The job did not finish in time.",
    };
    expect(seen.ends).toStrictEqual([{ state: "failed", change }]);
  });

  test("is verified if its owner asked for it and its provider is still known", async () => {
    const asked = openJob({ verifyTee: true });
    await asked.billing.complete(asked.state, ATTEMPT, IMAGES);
    expect(asked.seen.checked).toEqual([
      { requestId: "request-1", provider: offer(1), answerId: "answer-1", hashes: expect.any(Promise) },
    ]);
    const [{ hashes }] = asked.seen.checked as [CheckedAnswer];
    const known = await hashes;
    expect(known).toMatchObject({ request: "sent", response: "received" });
    expect(await known?.images?.()).toEqual(["image"]);
    await asked.billing.complete(asked.state, ATTEMPT, { ...IMAGES, answerId: null });
    expect(asked.seen.checked[1]).toMatchObject({ answerId: undefined });
    for (const options of [{}, { verifyTee: true, isKnown: false }]) {
      const { billing, state, seen } = openJob(options);
      await billing.complete(state, ATTEMPT, IMAGES);
      expect(seen.checked).toEqual([]);
      expect(seen.ends).toMatchObject([{ state: "completed" }]);
    }
  });
});

describe("a failed job", () => {
  test("costs nothing, and names its last provider and its reason", async () => {
    const { billing, state, seen } = openJob();
    await billing.fail(state, FAILURE, ATTEMPT);
    const attempts = [EARLIER, { provider: addressOf(1), outcome: "failed", durationMs: 70 }];
    expect(seen.settled).toStrictEqual([
      {
        receipt: RECEIPT,
        ...settlement,
        outcome: "failed",
        outputCost: 0n,
        errorCode: "provider_error",
        routing: { attempts, refused: REFUSED, streamed: false },
      },
    ]);
    const change = {
      provider: addressOf(1),
      attempt: 2,
      fraction: null,
      errorCode: "provider_error",
      errorMessage: "The provider failed.",
    };
    expect(seen.ends).toStrictEqual([{ state: "failed", change }]);
    expect(seen.observed).toMatchObject([{ outcome: "provider_error", tries: 2 }]);
  });

  test("between two attempts has only the attempts before", async () => {
    const { billing, state, seen } = openJob();
    await billing.fail(state, FAILURE);
    expect(seen.settled[0]).toMatchObject({ routing: { attempts: [EARLIER] } });
    expect(seen.ends[0]?.change).not.toHaveProperty("provider");
  });
});

test("the time of an attempt is never negative, even if the clock of another worker was ahead", () => {
  const { state } = openJob();
  const before = { ...state.checkpoint, attempts: [{ ...EARLIER, durationMs: 500 }] };
  const behind = new ImageJobState({
    job: { spec: state.spec, checkpoint: before },
    ageMs: 100,
  } as unknown as JobLease);
  expect(behind.attempted(CANDIDATE, "failed").at(-1)).toMatchObject({ durationMs: 0 });
});

test("a step of a job is stored with all that was known before it", async () => {
  const { state } = openJob();
  const advanced: object[] = [];
  const lease = {
    job: { spec: state.spec, checkpoint: state.checkpoint },
    advance: async (...given: object[]) => void advanced.push(...given),
  };
  const stepping = new ImageJobState(lease as unknown as JobLease);
  await stepping.advance({ failures: 2 }, { attempt: 3 });
  expect(advanced).toEqual([{ ...state.checkpoint, failures: 2 }, { attempt: 3 }]);
  expect(stepping.checkpoint).toEqual(advanced[0]);
});
