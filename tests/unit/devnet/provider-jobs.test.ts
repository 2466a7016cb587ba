import { expect, test } from "vitest";
import { StandInJobs } from "../../../src/devnet/provider/provider-jobs.ts";

const answer = { kind: "whole", contentType: "application/json", content: "{}", responseKey: "key" } as const;

test("a provider accepts jobs as long as earlier ones end, and refuses one while all of its thousand are running", () => {
  const jobs = new StandInJobs();
  const submit = (processingMs: number) => jobs.submit("owner", answer, { processingMs });
  const first = submit(600_000).jobId ?? "";
  for (let turn = 0; turn < 1_500; turn++) expect(submit(0).status).toBe(202);
  const newest = submit(0).jobId ?? "";
  expect(jobs.poll("owner", first, {}).body).toMatchObject({ status: "processing" });
  expect(jobs.poll("owner", newest, {}).body).toMatchObject({ status: "completed" });
  for (let turn = 0; turn < 999; turn++) expect(submit(600_000).status).toBe(202);
  expect(submit(600_000).status).toBe(503);
  expect(jobs.poll("owner", newest, {}).status).toBe(404);
});
