// @module-tag medium
import { expect, test } from "vitest";
import { refusedTool } from "../../../src/inference/guardrails/offered-tools.ts";
import { OutputItems } from "../../../src/inference/responses/output-items.ts";
import { readResponsesRequest } from "../../../src/inference/responses/responses-request.ts";
import { saidBy } from "../../../src/inference/responses/said.ts";
import { AppError } from "../../../src/kernel/errors.ts";
import { repeatedTurnMs } from "../../support/attack/event-loop.ts";
import { WORST_TOOLS } from "../../support/attack/worst-tools.ts";

/** 50 ms, and what calibration of a busy machine may miss. A quadratic loop takes hundreds of milliseconds. */
const MAX_TURN_MS = 100;

test.each(Object.entries(WORST_TOOLS))("%s are read in short turns", async (_, fields) => {
  const body = Buffer.from(JSON.stringify({ model: "m", input: "a", ...fields }));
  const turnMs = await repeatedTurnMs(MAX_TURN_MS, async () => {
    await readResponsesRequest(body).catch((error) => expect(error).toBeInstanceOf(AppError));
  });
  expect(turnMs).toBeLessThan(MAX_TURN_MS);
});

test("as many tools as a body may have are compared in a short turn with as many names as a key may allow", async () => {
  const allowed = Array.from({ length: 100 }, (_, n) => `name ${String(n).padStart(6, "0")}`);
  const tools = Array.from({ length: 20_000 }, () => ({ type: "function", name: "name 000099" }));
  const turnMs = await repeatedTurnMs(MAX_TURN_MS, async () => {
    expect(refusedTool({ tools }, allowed)).toBeUndefined();
  });
  expect(turnMs).toBeLessThan(MAX_TURN_MS);
});

test("a message of many parts is shown in time linear in its parts", async () => {
  const head = { suffix: "1_", hasSummary: false, functions: new Map() };
  const items = new OutputItems(head);
  const deltas = [{ content: "a" }, { refusal: "b" }].map((delta) => saidBy({ delta }));
  const turnMs = await repeatedTurnMs(MAX_TURN_MS, async () => {
    for (let n = 0; n < 4_000; n++) for (const said of deltas) items.take(said);
  });
  expect(turnMs).toBeLessThan(MAX_TURN_MS);
  const before = items.length;
  for (const said of deltas) items.take(said);
  // Parts without much text count as well, so that the limit on an answer bounds their number.
  expect(items.length - before).toBeGreaterThan(100);
});
