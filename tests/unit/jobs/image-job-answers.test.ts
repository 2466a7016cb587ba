import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  PROVIDER_FAILED,
  type Report,
  readReport,
  readSubmission,
} from "../../../src/inference/images/jobs/image-job-plan.ts";
import type { ProviderAnswer } from "../../../src/inference/providers/exchange/provider-answer.ts";

function answer(body: unknown, status = 200): ProviderAnswer {
  const text = typeof body === "string" ? body : JSON.stringify(body);
  return { status, body: Buffer.from(text), contentType: "application/json" } as unknown as ProviderAnswer;
}
const resultOf = (report: Report) =>
  report.kind === "done" ? (JSON.parse(new TextDecoder().decode(report.result)) as unknown) : report.kind;
const completed = (data: unknown) => readReport(answer({ status: "completed", data }));
const PICTURE = { b64_json: "AAAA" };
const noImages = {
  kind: "failed",
  failure: { code: "provider_error", message: expect.stringContaining("no images") },
};

describe("the answer to a submission", () => {
  test.each([200, 201, 202])("with status %i and an id of 1 to 256 characters is an acceptance", (status) => {
    for (const jobId of ["j", "j".repeat(256)])
      expect(readSubmission(answer({ jobId }, status))).toEqual({ kind: "accepted", providerJobId: jobId });
    for (const jobId of ["", "j".repeat(257), 5, null])
      expect(readSubmission(answer({ jobId }, status))).toEqual({ kind: "failed", failure: PROVIDER_FAILED });
  });

  test("may be the images themselves", () => {
    const submission = readSubmission(answer({ created: 7, data: [PICTURE] }));
    expect(submission).toMatchObject({ kind: "done", images: 1 });
    expect(resultOf(submission as Report)).toEqual({ created: 7, data: [PICTURE] });
    expect(readSubmission(answer({ data: [] }))).toEqual(noImages);
  });

  test("that did not arrive, or has neither, is a failure of the provider", () => {
    const failure = { code: "provider_error", message: "The provider failed." };
    for (const missing of [undefined, answer({}), answer("{"), answer("[]"), answer("null")])
      expect(readSubmission(missing)).toEqual({ kind: "failed", failure });
  });

  test.each([
    [400, "refused", "invalid_body"],
    [422, "refused", "invalid_body"],
    [401, "failed", "provider_error"],
    [429, "failed", "provider_error"],
    [500, "failed", "provider_error"],
    [204, "failed", "provider_error"],
  ])("with status %i is %s", (status, kind, code) => {
    const submission = readSubmission(answer({ error: { message: "no cats" }, jobId: "j" }, status));
    expect(submission).toMatchObject({ kind, failure: { code } });
    if (kind === "refused")
      expect(submission).toMatchObject({ failure: { message: expect.stringContaining("no cats") } });
  });
});

describe("the answer to a poll", () => {
  test.each([403, 404, 410])("with status %i means that the provider no longer knows the job", (status) => {
    expect(readReport(answer({ status: "completed", data: { data: [PICTURE] } }, status))).toEqual({
      kind: "gone",
      failure: { code: "provider_error", message: "The provider no longer knows the job." },
    });
  });

  test("that did not arrive, or cannot be read, says nothing about the job", () => {
    const completedBody = { status: "completed", data: { data: [PICTURE] } };
    const unreadable = ["{", "[]", "null", "5", {}, { status: 5 }, { status: "sleeping" }].map((body) =>
      answer(body),
    );
    for (const one of [undefined, ...unreadable, answer(completedBody, 500), answer(completedBody, 202)])
      expect(readReport(one)).toEqual({ kind: "unknown" });
  });

  test("that is refused because of too many polls says that the provider is there", () => {
    expect(readReport(answer({ error: { message: "slow down" } }, 429))).toEqual({ kind: "busy" });
  });

  test.each(["pending", "queued", "processing", "running"])(
    "'%s' means that it is being worked on",
    (status) => {
      expect(readReport(answer({ status }))).toEqual({ kind: "working", fraction: null });
    },
  );

  test.each([
    [0, 0],
    [0.5, 0.5],
    [1, 1],
    [50, 0.5],
    [100, 1],
    [100.1, null],
    [-0.1, null],
    ["50", null],
    [null, null],
  ])("has the progress %j as the fraction %j", (progress, fraction) => {
    expect(readReport(answer({ status: "running", progress }))).toEqual({ kind: "working", fraction });
  });

  test("that reports a failure has its reason, without secrets and at most 500 characters of it", () => {
    const reasonOf = (errorMessage: unknown) => {
      const report = readReport(answer({ status: "failed", errorMessage }));
      return report.kind === "failed" ? report.failure : undefined;
    };
    expect(reasonOf("out of memory")).toEqual({
      code: "provider_error",
      message: "The provider failed: out of memory",
    });
    for (const none of ["", undefined, 5])
      expect(reasonOf(none)?.message).toBe("The provider failed: no reason was given");
    expect(reasonOf(`key sk-${"a".repeat(49)}`)?.message).not.toContain("aaaa");
    expect(reasonOf(`a\0b${"x".repeat(496)}💥`)?.message).toMatch(/: a\ufffdbx{496}\ufffd$/);
    expect(reasonOf("x".repeat(9_000))?.message).toHaveLength("The provider failed: ".length + 500);
  });
});

describe("the result of a job", () => {
  test("has each image with its revised prompt, and nothing else of the provider", () => {
    const data = {
      created: 5,
      data: [
        { ...PICTURE, revised_prompt: "a cat", url: "https://a.example" },
        { ...PICTURE, revised_prompt: 5 },
      ],
      secret: "x",
    };
    expect(completed(data)).toMatchObject({ kind: "done", images: 2 });
    expect(resultOf(completed(data))).toEqual({
      created: 5,
      data: [{ ...PICTURE, revised_prompt: "a cat" }, PICTURE],
    });
  });

  test("has at most ten images, and at most 32,000 characters of a prompt", () => {
    const data = Array.from({ length: 12 }, () => ({ ...PICTURE, revised_prompt: "x".repeat(40_000) }));
    const report = completed({ data });
    expect(report).toMatchObject({ kind: "done", images: 10 });
    const { data: images } = resultOf(report) as { data: { revised_prompt: string }[] };
    expect(images.map(({ revised_prompt }) => revised_prompt.length)).toEqual(Array(10).fill(32_000));
  });

  test.each([undefined, "x", 1.5, 2 ** 53])("created at %j is dated zero", (created) => {
    expect(resultOf(completed({ created, data: [PICTURE] }))).toMatchObject({ created: 0 });
  });

  test("without images, or with one that is not base64, is a failure of the provider", () => {
    const wrong = ["", "A", "AAAAA", "AA-A", "A=AA", "AAAA===", "=", " AAAA", "AAAA\n", 5, undefined].map(
      (b64_json) => [{ b64_json }],
    );
    for (const data of [
      undefined,
      [],
      "x",
      {},
      [5],
      [null],
      [[]],
      ...wrong,
      [PICTURE, { url: "https://a.example" }],
    ])
      expect(completed({ data })).toEqual(noImages);
    for (const data of [undefined, null, "x", [PICTURE]]) expect(completed(data)).toEqual(noImages);
    for (const b64_json of ["AA", "AA==", "AAA=", "a+/9"])
      expect(completed({ data: [{ b64_json }] }).kind).toBe("done");
  });

  test("is ASCII, whatever characters a prompt has, and only those are replaced that cannot be stored", () => {
    fc.assert(
      fc.property(fc.array(fc.nat(0xffff), { maxLength: 40 }), (units) => {
        const prompt = String.fromCharCode(...units, 0x80, 0xffff);
        const report = completed({ data: [{ ...PICTURE, revised_prompt: prompt }] });
        if (report.kind !== "done") throw new Error("the result has an image");
        expect(report.result.every((byte) => byte < 128)).toBe(true);
        const storable = prompt.toWellFormed().replaceAll("\0", "\ufffd");
        expect(resultOf(report)).toMatchObject({ data: [{ revised_prompt: storable }] });
      }),
    );
  });
});
