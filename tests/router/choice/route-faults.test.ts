// @module-tag large
import { existsSync } from "node:fs";
import { expect, test } from "vitest";
import { routes } from "../../../src/rest/routes.ts";
import { LINE_FAULT_ROWS, LIVE_FAULT_ROWS } from "../../support/inference/fault-rows.ts";
import { testFaults } from "../../support/inference/fault-runner.ts";

/** Billed routes whose providers' faults have a table of their own. */
const ELSEWHERE: Readonly<Record<string, string>> = {
  "POST /v1/chat/completions": "tests/router/choice/misbehaviour.test.ts",
  "POST /v1/async/images/generations": "tests/jobs/image-jobs.test.ts",
  "POST /v1/async/images/edits": "tests/jobs/image-jobs.test.ts",
};

/** Billed routes whose requests are sent by a worker, after their answer. */
const LATER = ["POST /v1/batches"];

await testFaults(LIVE_FAULT_ROWS);

test("every billed route has a row here, or a table of its own", () => {
  const billed = routes.filter(({ isAdmitted }) => isAdmitted).map(({ method, url }) => `${method} ${url}`);
  const rows = Object.keys({ ...LIVE_FAULT_ROWS, ...LINE_FAULT_ROWS }).map((name) => name.split(",")[0]);
  expect(new Set([...rows, ...Object.keys(ELSEWHERE)])).toEqual(new Set([...billed, ...LATER]));
  for (const file of Object.values(ELSEWHERE)) expect(existsSync(file), file).toBe(true);
});
