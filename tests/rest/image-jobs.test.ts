// @module-tag large
import { beforeEach, describe, expect, test } from "vitest";
import { drawImage, sizeOfPng } from "../../src/devnet/provider/endpoints/image.ts";
import { type RestFailure, rest } from "../support/clients/rest-client.ts";
import { requireAvailable } from "../support/inference/bill.ts";
import { type Seeded, seedAccount } from "../support/seed.ts";
import { SERVICES, useServices } from "../support/services.ts";
import { useStack } from "../support/stack.ts";
import { until } from "../support/until.ts";

type Submitted = { readonly jobId: string; readonly status: string; readonly provider_address: string };
type Job = Submitted & {
  readonly errorMessage?: string;
  readonly data?: { readonly data: readonly { readonly b64_json: string }[] };
  readonly x_0g_trace?: object;
};

const stack = useStack();
const services = useServices(stack, ["images", "edits"]);
const IMAGE = SERVICES.images;
const QUICK = { jobs: { processingMs: 50, retryAfterSeconds: 0 } };
const SLOW = { jobs: { processingMs: 60_000, retryAfterSeconds: 0 } };

let owner: Seeded;
beforeEach(async () => {
  owner = await seedAccount(stack().app.database, 10_000n);
  services().images.behaviour = QUICK;
  services().edits.behaviour = QUICK;
});

function submit<T = Submitted>(
  fields: object = {},
  headers: Record<string, string> = {},
  secret = owner.secret,
) {
  const body = { model: IMAGE.model, prompt: "a sea", size: "16x8", ...fields };
  return rest<T>(stack().origin, "/v1/async/images/generations", secret, { body, headers });
}

function look<T = Job>(jobId: string, query = "", secret = owner.secret) {
  return rest<T>(stack().origin, `/v1/async/jobs/${jobId}${query}`, secret);
}

function finished(jobId: string): Promise<Job> {
  return until(async () => {
    const { body } = await look(jobId);
    return !["pending", "processing"].includes(body.status) && body;
  });
}

describe("the list of image jobs", () => {
  type List = { readonly object: "list"; readonly data: readonly Job[]; readonly next_cursor: string | null };
  const list = <T = List>(query = "", secret = owner.secret) =>
    rest<T>(stack().origin, `/v1/async/jobs${query}`, secret);

  test("has the caller's jobs without their images, newest first, in pages without gaps", async () => {
    expect((await list()).body).toEqual({ object: "list", data: [], next_cursor: null });
    const ids: string[] = [];
    for (let n = 0; n < 5; n++) ids.unshift((await submit()).body.jobId);
    await Promise.all(ids.map(finished));
    const pages: List[] = [];
    for (let cursor: string | null = ""; cursor !== null; cursor = pages.at(-1)?.next_cursor ?? null)
      pages.push((await list(`?limit=2${cursor && `&cursor=${cursor}`}`)).body);
    expect(pages.map(({ data }) => data.length)).toEqual([2, 2, 1]);
    const listed = pages.flatMap(({ data }) => data);
    expect(listed.map(({ jobId }) => jobId)).toEqual(ids);
    for (const job of listed) {
      const { data, x_0g_trace, ...state } = (await look(job.jobId)).body;
      expect(job).toEqual(state);
    }
  });

  test("is filtered by status", async () => {
    services().images.behaviour = { jobs: { ...QUICK.jobs, failure: "no" } };
    const failed = (await submit()).body.jobId;
    await finished(failed);
    services().images.behaviour = QUICK;
    const completed = (await submit()).body.jobId;
    await finished(completed);
    const idsOf = async (status: string) =>
      (await list(`?status=${status}`)).body.data.map(({ jobId }) => jobId);
    expect(await idsOf("failed")).toEqual([failed]);
    expect(await idsOf("completed")).toEqual([completed]);
    expect(await idsOf("cancelled")).toEqual([]);
    expect(await idsOf("all")).toEqual([completed, failed]);
  });

  test("has no job of another key", async () => {
    const { body } = await submit();
    const stranger = await seedAccount(stack().app.database, 10_000n);
    expect((await list("", stranger.secret)).body.data).toEqual([]);
    await finished(body.jobId);
  });

  test.each([
    ["limit", "limit=0"],
    ["limit", "limit=101"],
    ["status", "status=done"],
    ["cursor", "cursor=nonsense"],
    ["page", "page=2"],
  ])("names an invalid %s: %s", async (param, query) => {
    const { status, body } = await list<RestFailure>(`?${query}`);
    expect([status, body.error.param]).toEqual([400, param]);
  });
});

describe("an image job", () => {
  test("is accepted with 202, can be polled, and ends with its images under data.data and its bill", async () => {
    const { status, body, headers } = await submit({ n: 2 });
    expect([status, headers.get("retry-after")]).toEqual([202, "2"]);
    expect(body).toEqual({
      jobId: expect.stringMatching(/^[0-9a-f-]{36}$/),
      status: "pending",
      provider_address: IMAGE.account.address.toLowerCase(),
    });
    const job = await finished(body.jobId);
    const again = await look(
      body.jobId,
      `?provider_address=${body.provider_address.toUpperCase().replace("X", "x")}`,
    );
    expect(again.headers.get("retry-after")).toBeNull();
    expect(again.headers.get("cache-control")).toBe("no-store");
    expect(again.body).toEqual(job);
    expect(job).toMatchObject({
      ...body,
      status: "completed",
      createdAt: expect.stringMatching(/Z$/),
      updatedAt: expect.stringMatching(/Z$/),
      x_0g_trace: {
        request_id: `async-${body.provider_address.slice(2, 10)}-${body.jobId}`,
        provider: body.provider_address,
        billing: { input_cost: "0", output_cost: "2000", total_cost: "2000" },
      },
    });
    expect(job.data?.data.map(({ b64_json }) => sizeOfPng(Buffer.from(b64_json, "base64")))).toEqual(
      Array(2).fill({ width: 16, height: 8 }),
    );
    await requireAvailable(stack().app, owner, { available: 8_000n });
  });

  test("edits an image that is sent as a form", async () => {
    const form = new FormData();
    const picture = drawImage(Buffer.from("x"), { width: 6, height: 4 });
    for (const [name, value] of Object.entries({ model: SERVICES.edits.model, prompt: "bluer" }))
      form.set(name, value);
    form.set("image", new Blob([new Uint8Array(picture)], { type: "image/png" }), "sea.png");
    const reply = await fetch(`${stack().origin}/v1/async/images/edits`, {
      method: "POST",
      headers: { authorization: `Bearer ${owner.secret}` },
      body: form,
    });
    expect(reply.status).toBe(202);
    const job = await finished(((await reply.json()) as Submitted).jobId);
    expect(job.status).toBe("completed");
    expect(sizeOfPng(Buffer.from(job.data?.data[0]?.b64_json ?? "", "base64"))).toEqual({
      width: 6,
      height: 4,
    });
    await requireAvailable(stack().app, owner, { available: 8_000n });
  });

  test("is verified by its provider's signature when requested", async () => {
    const { body } = await submit();
    const job = await finished(body.jobId);
    expect(job.x_0g_trace).not.toHaveProperty("tee_verified");
    const verified = await look(body.jobId, "?verify_tee=true");
    expect(verified.body.x_0g_trace).toEqual({
      ...job.x_0g_trace,
      tee_verified: true,
      tee_evidence: { verdict: "verified", form: "hashes", request_bound: true, response_bound: true },
    });
    const [evidence] = await stack().app.evidence.byRequests(owner.account, [
      (job.x_0g_trace as { request_id: string }).request_id,
    ]);
    expect(evidence).toMatchObject({ verdict: "verified", signer: body.provider_address });
  });

  test("repeated by Idempotency-Key is one job and one charge", async () => {
    const headers = { "idempotency-key": "job" };
    const first = await submit({}, headers);
    const second = await submit({}, headers);
    expect([second.status, second.body]).toEqual([202, first.body]);
    expect(second.headers.get("idempotent-replayed")).toBe("true");
    expect(second.headers.get("retry-after")).toBe("2");
    await finished(first.body.jobId);
    await requireAvailable(stack().app, owner, { available: 9_000n });
    const reused = await submit<RestFailure>({ n: 2 }, headers);
    expect([reused.status, reused.body.error.code]).toEqual([422, "idempotency_key_reused"]);
  });

  test("of another account, or at another provider, looks as if it did not exist", async () => {
    const { body } = await submit();
    const stranger = await seedAccount(stack().app.database, 10_000n);
    const answers = await Promise.all([
      look<RestFailure>(body.jobId, "", stranger.secret),
      look<RestFailure>("00000000-0000-4000-8000-000000000000"),
      look<RestFailure>("nonsense"),
      look<RestFailure>(body.jobId, `?provider_address=0x${"1".repeat(40)}`),
      rest<RestFailure>(stack().origin, `/v1/async/jobs/${body.jobId}`, stranger.secret, {
        method: "DELETE",
      }),
    ]);
    for (const { status, body: failure } of answers) {
      expect(status).toBe(404);
      expect({ ...failure, request_id: "" }).toEqual({ ...answers[0]?.body, request_id: "" });
      expect(failure.error.code).toBe("async_job_not_found");
    }
    const malformed = await look<RestFailure>(body.jobId, "?provider_address=1");
    expect([malformed.status, malformed.body.error.param]).toEqual([400, "provider_address"]);
    await finished(body.jobId);
  });

  test("that fails says why, costs nothing and has no data", async () => {
    services().images.behaviour = { jobs: { ...QUICK.jobs, failure: "the picture came out wrong" } };
    const { body } = await submit();
    const job = await finished(body.jobId);
    expect(job).toMatchObject({
      status: "failed",
      errorMessage: "The provider failed: the picture came out wrong",
    });
    expect(job.data).toBeUndefined();
    await requireAvailable(stack().app, owner, { available: 10_000n });
  });

  test("is refused like the synchronous form, before anything is held", async () => {
    const url = await submit<RestFailure>({ response_format: "url" });
    expect([url.status, url.body.error.param]).toEqual([400, "response_format"]);
    const chat = await submit<RestFailure>({ model: "test-chat" });
    expect([chat.status, chat.body.error.code]).toEqual([404, "model_not_found"]);
    const dear = await submit<RestFailure>(
      { n: 10 },
      {},
      (await seedAccount(stack().app.database, 9_999n)).secret,
    );
    expect([dear.status, dear.body.error.code]).toEqual([402, "insufficient_balance"]);
    const pinned = await submit<RestFailure>({}, { "x-0g-provider-address": "0x12" });
    expect([pinned.status, pinned.body.error.code]).toEqual([400, "invalid_provider_header"]);
    await requireAvailable(stack().app, owner, { available: 10_000n });
  });

  test("that is running can no longer be cancelled", async () => {
    services().images.behaviour = SLOW;
    const { body } = await submit();
    await until(async () => (await look(body.jobId)).body.status === "processing");
    const refused = await rest<RestFailure>(stack().origin, `/v1/async/jobs/${body.jobId}`, owner.secret, {
      method: "DELETE",
    });
    expect([refused.status, refused.body.error.code]).toEqual([409, "async_job_not_pending"]);
  });
});
