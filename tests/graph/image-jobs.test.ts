// @module-tag large
import { beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { repeatedTurnMs } from "../support/attack/event-loop.ts";
import { openSession } from "../support/callers.ts";
import {
  ask,
  type Following,
  followEvents,
  followSocket,
  isRouted,
} from "../support/clients/graph-client.ts";
import { requireAvailable } from "../support/inference/bill.ts";
import { type Seeded, seedAccount } from "../support/seed.ts";
import { SERVICES, useServices } from "../support/services.ts";
import { useStack } from "../support/stack.ts";
import { until } from "../support/until.ts";

const stack = useStack();
const services = useServices(stack, ["images"]);
const IMAGE = SERVICES.images;
const FOLLOW = { socket: followSocket, events: followEvents } as const;
/** 50 ms, plus the time that the client, on the same thread, takes on a busy machine. */
const MAX_TURN_MS = 150;
const TRANSPORTS = Object.keys(FOLLOW) as (keyof typeof FOLLOW)[];
const STEP =
  "{ id cursor at jobId sequence step status providerAddress attempt fraction result job { jobId status } }";

type Step = {
  readonly id: string;
  readonly cursor: string;
  readonly jobId: string;
  readonly sequence: number;
  readonly step: string;
  readonly status: string;
  readonly providerAddress: string | null;
  readonly result: string | null;
};

let owner: Seeded;
beforeEach(async () => {
  owner = await seedAccount(stack().app.database, 10_000n);
  services().images.behaviour = { jobs: { processingMs: 300, retryAfterSeconds: 0 } };
});

async function submit(secret = owner.secret): Promise<string> {
  const input = `{ model: "${IMAGE.model}", prompt: "a sea", size: "8x8" }`;
  const { data, errors } = await ask(
    stack().origin,
    secret,
    `mutation { submitImageJob(input: ${input}) { imageJob { jobId status modelId providerAddress } } }`,
  );
  expect(errors).toBeUndefined();
  expect(data.submitImageJob.imageJob).toMatchObject({ status: "PENDING", modelId: IMAGE.model });
  return data.submitImageJob.imageJob.jobId;
}

/** Stopped at the end of its test, if not before. */
async function follow(
  transport: keyof typeof FOLLOW,
  field: string,
  secret = owner.secret,
): Promise<Following> {
  const following = await FOLLOW[transport](stack().origin, secret, `subscription { ${field} ${STEP} }`);
  onTestFinished(() => following.stop());
  return following;
}

/** Keeps the jobs that are submitted next in progress, until the returned function is called. */
function holdJobs(): () => void {
  const jobs = { processingMs: Number.POSITIVE_INFINITY, retryAfterSeconds: 0 };
  services().images.behaviour = { jobs };
  return () => {
    jobs.processingMs = 0;
  };
}

function stepsOf({ results }: Following): Step[] {
  return results.map(({ data }) => data.imageJobProgress ?? data.imageJobChanged);
}

function isOver(following: Following, id: string): boolean {
  return stepsOf(following).some(({ jobId, status }) => jobId === id && status === "COMPLETED");
}

/** Expects growing sequences, without a gap after the first event, which may be a snapshot. */
function requireInOrder(steps: readonly Step[]): void {
  const sequences = steps.map(({ sequence }) => sequence);
  expect(sequences).toEqual(sequences.map((_, n) => (sequences[0] ?? 0) + n));
}

describe.each(TRANSPORTS)("over %s", (transport) => {
  test("a job is followed to its end, by two subscribers at once, and again from any cursor", async () => {
    const all = await follow(transport, "imageJobChanged");
    await until(() => stack().app.events.openStreams > 0);
    const release = holdJobs();
    const id = await submit();
    const one = await follow(transport, `imageJobProgress(id: "${id}")`);
    await until(() => [all, one].every((each) => stepsOf(each).some(({ step }) => step === "RUNNING")));
    release();
    await until(() => isOver(all, id) && isOver(one, id));
    requireInOrder(stepsOf(one));
    const jobSteps = stepsOf(all);
    requireInOrder(jobSteps);
    expect(jobSteps.map(({ step }) => step)).toEqual([
      "QUEUED",
      "STARTED",
      "SUBMITTED",
      "RUNNING",
      "COMPLETED",
    ]);
    expect(jobSteps.at(-1)).toMatchObject({
      status: "COMPLETED",
      result: `/v1/async/jobs/${id}?provider_address=${IMAGE.account.address.toLowerCase()}`,
    });
    // Events that both received are identical.
    const ids = new Map(jobSteps.map((step) => [step.sequence, step.id]));
    for (const step of stepsOf(one)) expect(step.id).toBe(ids.get(step.sequence));
    const again = await follow(transport, `imageJobProgress(id: "${id}", after: "${jobSteps[1]?.cursor}")`);
    await until(() => isOver(again, id));
    expect(stepsOf(again).map(({ id: event }) => event)).toEqual(
      jobSteps.slice(2).map(({ id: event }) => event),
    );
    const late = await follow(transport, `imageJobProgress(id: "${id}")`);
    await until(() => late.results.length === 1);
    expect(stepsOf(late)[0]).toMatchObject({ id: jobSteps.at(-1)?.id, sequence: 5, status: "COMPLETED" });
    await Promise.all([all, one, again, late].map((following) => following.stop()));
    await until(() => stack().app.events.openStreams === 0);
    await requireAvailable(stack().app, owner, { available: 9_000n });
  });

  test("from the cursor of a snapshot, every later event is delivered", async () => {
    const id = await submit();
    const first = await follow(transport, `imageJobProgress(id: "${id}")`);
    await until(() => first.results.length > 0);
    await first.stop();
    const [present] = stepsOf(first);
    const later = await follow(transport, `imageJobProgress(id: "${id}", after: "${present?.cursor}")`);
    await until(() => isOver(later, id));
    requireInOrder(stepsOf(later));
    expect(stepsOf(later)[0]?.sequence).toBeLessThanOrEqual((present?.sequence ?? 0) + 1);
    await later.stop();
  });

  test("a late subscriber to all jobs first receives the running ones, and no step backwards", async () => {
    const release = holdJobs();
    const ids = await Promise.all([submit(), submit()]);
    await until(async () => {
      const { data } = await ask(
        stack().origin,
        owner.secret,
        "{ imageJobs(filter: { statuses: [PROCESSING] }) { nodes { jobId } } }",
      );
      return data.imageJobs.nodes.length === 2;
    });
    const late = await follow(transport, "imageJobChanged");
    await until(() => ids.every((id) => stepsOf(late).some(({ jobId }) => jobId === id)));
    release();
    await until(() => ids.every((id) => isOver(late, id)));
    for (const id of ids) requireInOrder(stepsOf(late).filter(({ jobId }) => jobId === id));
    await late.stop();
  });

  test("another account gets not found, and no event of it", async () => {
    const stranger = await seedAccount(stack().app.database, 10_000n);
    const all = await follow(transport, "imageJobChanged", stranger.secret);
    const id = await submit();
    const refused = await follow(transport, `imageJobProgress(id: "${id}")`, stranger.secret).catch(
      (error: Error) => error.message,
    );
    if (typeof refused === "string") expect(refused).toContain("async_job_not_found");
    const mine = await follow(transport, `imageJobProgress(id: "${id}")`);
    await until(() => isOver(mine, id));
    expect(all.results).toEqual([]);
    if (typeof refused !== "string") expect(refused.results.every(({ data }) => data == null)).toBe(true);
    await Promise.all([all, mine, ...(typeof refused === "string" ? [] : [refused])].map((f) => f.stop()));
  });
});

test("a job is joined with its images, model, provider and entries in the ledger", async () => {
  const id = await submit();
  const secret = await openSession(stack().app, owner.account);
  const query = `{ imageJob(id: "${id}") {
    id status sequence attempt errorCode resultExpiresAt images { b64Json }
    model { modelId } provider { address } request { requestId cost { total } } } }`;
  const job = await until(async () => {
    const { data, errors } = await ask(stack().origin, secret, query);
    expect(errors).toBeUndefined();
    return data.imageJob.status === "COMPLETED" && data.imageJob;
  });
  expect(job).toMatchObject({
    images: [{ b64Json: expect.stringMatching(/^iVBOR/) }],
    model: { modelId: IMAGE.model },
    provider: { address: IMAGE.account.address },
    request: { requestId: expect.stringContaining(id), cost: { total: "1000" } },
  });
  const stranger = await seedAccount(stack().app.database, 0n);
  expect((await ask(stack().origin, stranger.secret, query)).data.imageJob).toBeNull();
  const mine = await ask(
    stack().origin,
    owner.secret,
    `{ imageJobs { nodes { jobId request { requestId } } } }`,
  );
  expect(mine).toMatchObject({
    data: { imageJobs: { nodes: [{ jobId: id, request: null }] } },
    errors: [{ path: ["imageJobs", "nodes", 0, "request"], extensions: { code: "insufficient_scope" } }],
  });
});

describe("large images", () => {
  const SIZE_BYTES = 6 * 1_048_576;

  /** A job whose result has one image of `SIZE_BYTES`. */
  async function finishedJob(): Promise<string> {
    const id = await submit();
    await until(async () => (await stack().app.jobs.get(owner, id)).state === "completed");
    await stack().app.database.rows(
      `update job_content set result = '{"created":1,"data":[{"b64_json":"' || repeat('QUJD', $2::integer) || '"}]}'
       where id = $1::uuid`,
      [id, SIZE_BYTES / 4],
    );
    return id;
  }

  const fieldOf = (id: string, n = 0) => `job${n}: imageJob(id: "${id}") { id images { b64Json } }`;
  const isFree = () => stack().app.load.memory.usedBytes === 0;

  test("are read in short turns, and their memory is released when they were sent", async () => {
    const id = await finishedJob();
    let image = "";
    const turnMs = await repeatedTurnMs(MAX_TURN_MS, async () => {
      const { data } = await ask(stack().origin, owner.secret, `{ ${fieldOf(id)} }`);
      image = data.job0.images[0].b64Json;
    });
    expect(image).toHaveLength(SIZE_BYTES);
    expect(turnMs).toBeLessThan(MAX_TURN_MS);
    await until(isFree);
  });

  test("of one operation take at most 16 MiB, and the refusal names the endpoint for the rest", async () => {
    const ids = [await finishedJob(), await finishedJob(), await finishedJob()];
    const { data, errors } = await ask(stack().origin, owner.secret, `{ ${ids.map(fieldOf).join(" ")} }`);
    expect(ids.map((_, n) => data[`job${n}`].images?.[0].b64Json.length ?? null).sort()).toEqual(
      [SIZE_BYTES, SIZE_BYTES, null].sort(),
    );
    expect(errors).toMatchObject([{ extensions: { code: "graphql_refused" } }]);
    expect(errors?.[0]?.message).toContain("GET /v1/async/jobs/{jobId}");
    await until(isFree);
  });

  test.skipIf(isRouted)(
    "are refused on every transport while the memory is in use, and answered when it is free again",
    async () => {
      const id = await finishedJob();
      const { memory } = stack().app.load;
      const query = `{ ${fieldOf(id)} }`;
      const transports = {
        http: () => ask(stack().origin, owner.secret, query),
        // Answered by Apollo Server, and not the fast path.
        apollo: () => ask(stack().origin, owner.secret, `query Named ${query}`, { unused: 1 }),
        socket: () => firstResult("socket", query),
        events: () => firstResult("events", query),
        subscription: () =>
          firstResult(
            "socket",
            `subscription { imageJobProgress(id: "${id}") { job { id images { b64Json } } } }`,
          ),
      };
      for (const [transport, run] of Object.entries(transports)) {
        const lease = memory.open({ kind: "account", id: owner.account });
        lease.charge(120 * 1_048_576);
        const refused = await run();
        expect(refused.errors, transport).toMatchObject([{ extensions: { code: "overloaded" } }]);
        lease.release();
        const answered = await run();
        expect(answered.errors, transport).toBeUndefined();
        expect(JSON.stringify(answered.data).length, transport).toBeGreaterThan(SIZE_BYTES);
        await until(isFree);
      }
    },
  );

  async function firstResult(transport: keyof typeof FOLLOW, query: string) {
    const following = await FOLLOW[transport](stack().origin, owner.secret, query);
    const [result] = await until(() => following.results.length > 0 && following.results);
    await following.stop();
    if (!result) throw new Error("no result");
    return result;
  }

  test("are no files while they are not stored, whatever is selected of the file", async () => {
    const id = await finishedJob();
    for (const fields of ["id", "root", "__typename", "status", "url firstTxSeq"]) {
      const { data, errors } = await ask(
        stack().origin,
        owner.secret,
        `{ imageJob(id: "${id}") { images { root file { ${fields} } } } }`,
      );
      expect(errors, fields).toBeUndefined();
      expect(data.imageJob.images[0].file, fields).toBeNull();
    }
  });

  test.skipIf(isRouted)(
    "generated synchronously are counted but not refused, as they were paid for",
    async () => {
      const input = `{ model: "${IMAGE.model}", prompt: "a sea", size: "8x8" }`;
      const lease = stack().app.load.memory.open({ kind: "account", id: owner.account });
      lease.charge(128 * 1_048_576);
      const { data, errors } = await ask(
        stack().origin,
        owner.secret,
        `mutation { generateImages(input: ${input}) { images { b64Json root file { root } } bill { __typename } } }`,
      );
      expect(errors).toBeUndefined();
      const [image] = data.generateImages.images;
      expect(image).toMatchObject({
        root: expect.stringMatching(/^0x[0-9a-f]{64}$/),
        b64Json: expect.any(String),
      });
      lease.release();
      await until(isFree);
    },
  );
});
