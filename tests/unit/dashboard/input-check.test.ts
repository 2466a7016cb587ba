import { expect, test } from "vitest";
import { checkBatchInput } from "../../../gateway/dashboard/app/pages/batches/input-check.ts";
import { INPUT_LIMITS, InputCheck, LineSplitter } from "../../../src/inference/batches/batch-input.ts";

const { signal } = new AbortController();
const URL_OF_CHATS = "/v1/chat/completions";
const line = (id: string, more: object = {}) =>
  JSON.stringify({ custom_id: id, method: "POST", url: URL_OF_CHATS, body: { model: "m" }, ...more });
const check = (text: string, models?: ReadonlySet<string>) =>
  checkBatchInput(new Blob([text]), { models, signal });

/** The lines in which the server finds something wrong. */
function serverFaults(text: string): readonly (number | null)[] {
  const input = new InputCheck(URL_OF_CHATS, INPUT_LIMITS, (model) => model === "m");
  const splitter = new LineSplitter(INPUT_LIMITS);
  for (const one of splitter.push(Buffer.from(text))) input.add(one);
  const last = splitter.end();
  if (last) input.add(last);
  return input.errors.map((error) => error.line);
}

test("a valid file is counted by models, with its endpoint, whatever its line breaks", async () => {
  const text = `\uFEFF${line("1")}\r\n\n${line("2", { body: { model: "n" } })}\n${line("3")}`;
  expect(await check(text)).toEqual({
    requests: 3,
    endpoint: URL_OF_CHATS,
    models: new Map([
      ["m", 2],
      ["n", 1],
    ]),
    faults: [],
  });
});

test("faults name the lines that the server names", async () => {
  const text = [
    line("1"),
    "{oops",
    "[]",
    line("1"),
    line("", {}),
    line("5", { method: "GET" }),
    line("6", { url: "/v1/embeddings" }),
    line("7", { body: [] }),
    line("8", { extra: 1 }),
    line("9", { body: { model: "unknown" } }),
    line("x".repeat(513)),
  ].join("\n");
  const { faults } = await check(text, new Set(["m"]));
  expect(faults.map((fault) => fault.line)).toEqual(serverFaults(text));
  expect(faults.map(({ message }) => message).join(" ")).toContain("custom_id: line 1 has the same");
});

test("a line that is too long ends the check, and is not held in memory", async () => {
  const long = line("2", { body: { model: "m", input: "x".repeat(1_048_576) } });
  const { faults } = await check(`${line("1")}\n${long}\n${line("3")}`);
  expect(faults[0]).toMatchObject({ line: 2 });
  const endless = await check("x".repeat(3_000_000));
  expect(endless.faults).toEqual([{ line: 1, message: "A line may have 1,048,576 bytes." }]);
});

test("no more than ten faults are collected, and an empty file is one", async () => {
  const { faults } = await check("{\n".repeat(1_000));
  expect(faults).toHaveLength(10);
  expect((await check("\n\n")).faults).toHaveLength(1);
});

test("a check whose file was replaced stops", async () => {
  const stopped = new AbortController();
  stopped.abort();
  const { requests } = await checkBatchInput(new Blob([`${line("1")}\n`.repeat(1_000)]), {
    signal: stopped.signal,
  });
  expect(requests).toBe(0);
});
