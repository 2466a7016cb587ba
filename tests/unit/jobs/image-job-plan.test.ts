import { describe, expect, test } from "vitest";
import {
  type ImageCandidate,
  type ImageJobCheckpoint,
  isRepeated,
  modelOf,
  nextAction,
  providersOf,
  readJobRequest,
  resultPath,
  UNTRIED,
} from "../../../src/inference/images/jobs/image-job-plan.ts";
import { addressOf } from "../../support/inference/offers.ts";

const candidate = (n: number): ImageCandidate => ({
  address: addressOf(n),
  inputPrice: "0",
  outputPrice: "5",
  trustMode: "verified",
});
const [ONE, TWO] = [candidate(1), candidate(2)];
const next = (candidates: readonly ImageCandidate[], progress: Partial<ImageJobCheckpoint>) =>
  nextAction({ candidates }, { ...UNTRIED, ...progress });

test("a new job has not been tried", () => {
  expect(UNTRIED).toMatchObject({
    failures: 0,
    submissions: 0,
    attempts: [],
    lastFailure: null,
    answerId: null,
  });
});

describe("the next action of a job", () => {
  test("is a submission to each candidate in turn, with three attempts in all", () => {
    expect(next([ONE, TWO], {})).toEqual({ kind: "submit", candidate: ONE, attempt: 1 });
    expect(next([ONE, TWO], { failures: 1 })).toEqual({ kind: "submit", candidate: TWO, attempt: 2 });
    expect(next([ONE, TWO], { failures: 2 })).toEqual({ kind: "submit", candidate: ONE, attempt: 3 });
    expect(next([ONE, TWO], { failures: 3 })).toEqual({ kind: "give-up" });
    expect(next([ONE], { failures: 4 })).toEqual({ kind: "give-up" });
  });

  test("is to give up where there is no candidate", () => {
    expect(next([], {})).toEqual({ kind: "give-up" });
  });

  test("is to poll the provider that accepted it, and never to submit it again", () => {
    for (const submissions of [1, 2, 3])
      expect(next([ONE], { submissions, providerJobId: "job" })).toEqual({
        kind: "poll",
        candidate: ONE,
        attempt: 1,
      });
    expect(next([ONE], { submissions: 1, providerJobId: "" })).toMatchObject({ kind: "poll" });
  });

  test("is no third submission to a provider that may have received it twice", () => {
    expect(next([ONE], { submissions: 1 })).toMatchObject({ kind: "submit" });
    expect(next([ONE], { submissions: 2 })).toEqual({ kind: "abandon", candidate: ONE, attempt: 1 });
    expect(next([ONE, TWO], { submissions: 3, failures: 1 })).toEqual({
      kind: "abandon",
      candidate: TWO,
      attempt: 2,
    });
  });

  test("waits only before a provider that failed before", () => {
    const repeated = [0, 1, 2, 3].map((failures) =>
      isRepeated({ candidates: [ONE, TWO] }, { ...UNTRIED, failures }),
    );
    expect(repeated).toEqual([false, false, true, true]);
  });
});

test("a job says which providers and model it may use, and where its result is", () => {
  const job = { spec: { candidates: [ONE, TWO], model: "painter" } };
  expect(providersOf(job)).toEqual([addressOf(1), addressOf(2)]);
  expect(modelOf(job)).toBe("painter");
  expect(resultPath("job-1", addressOf(1))).toBe(`/v1/async/jobs/job-1?provider_address=${addressOf(1)}`);
});

test("the request of a job is read as what it was created as: a generation or an edit", async () => {
  const bytes = Buffer.from(JSON.stringify({ model: "painter", prompt: "a cat", n: 2 }));
  const generation = await readJobRequest(
    { operation: "generations", contentType: "application/json" },
    bytes,
  );
  expect(generation).toMatchObject({ model: "painter", count: 2, serviceType: "text-to-image" });
  const form = new Request("http://localhost", { method: "POST", body: editForm() });
  const contentType = form.headers.get("content-type") ?? "";
  const edit = await readJobRequest(
    { operation: "edits", contentType },
    Buffer.from(await form.arrayBuffer()),
  );
  expect(edit).toMatchObject({ model: "painter", count: 1, serviceType: "image-editing" });
});

function editForm(): FormData {
  const form = new FormData();
  form.set("model", "painter");
  form.set("prompt", "a cat");
  form.set("image", new Blob(["x"], { type: "image/png" }), "cat.png");
  return form;
}
