import { describe, expect, test } from "vitest";
import { checkInput } from "../../../src/inference/batches/batch-check.ts";
import {
  InputCheck,
  type InputLine,
  LineSplitter,
  readLine,
} from "../../../src/inference/batches/batch-input.ts";
import type { LinePlace } from "../../../src/inference/batches/batch-lines.store.ts";
import { isStorable } from "../../../src/kernel/text/storable.ts";
import { repeatedTurnMs } from "../../support/attack/event-loop.ts";
import { chatLine, inputOf, numbers } from "../../support/batches/batch-world.ts";

const MAX_TURN_MS = 50;
const ENDPOINT = "/v1/chat/completions";
const LIMITS = { maxLines: 50_000, maxLineBytes: 1_048_576 };

function split(bytes: Buffer, size: number, maxLineBytes = 32): readonly InputLine[] {
  const splitter = new LineSplitter({ maxLineBytes });
  const lines: InputLine[] = [];
  for (let at = 0; at < bytes.length; at += size) lines.push(...splitter.push(bytes.subarray(at, at + size)));
  const last = splitter.end();
  return last ? [...lines, last] : lines;
}

describe("an input", () => {
  const text = `\ufeffone\r\n\n  \t\r\nsecond line\n${"x".repeat(33)}\nzürich\r\n${"y".repeat(32)}`;
  const bytes = Buffer.from(text);

  test.each([1, 2, 3, 5, 7, 64, 1_000])("is split into the same lines from pieces of %i bytes", (size) => {
    const lines = split(bytes, size).filter((line) => line.bytes?.length !== 0);
    expect(lines.map(({ n, bytes: line }) => [n, line?.toString()])).toEqual([
      [1, "one"],
      [4, "second line"],
      [5, undefined],
      [6, "zürich"],
      [7, "y".repeat(32)],
    ]);
    // The places are those of the lines in the file.
    for (const { startsAt, sizeBytes, bytes: line } of lines)
      if (line) expect(bytes.subarray(startsAt, startsAt + sizeBytes)).toEqual(line);
  });

  test("of one endless line is not held in memory", () => {
    const splitter = new LineSplitter({ maxLineBytes: 1_024 });
    const piece = Buffer.alloc(65_536, "x");
    for (let n = 0; n < 1_000; n++) expect([...splitter.push(piece)]).toEqual([]);
    expect(splitter.end()).toMatchObject({ n: 1, sizeBytes: 65_536_000, bytes: undefined });
  });
});

test("the body of a line is the client's own bytes", () => {
  const body = '{"model":"m", "temperature":0.10, "seed":12345678901234567890, "body":{"body":1}}';
  const line = `{ "custom_id":"a", "method":"POST", "body" : ${body} , "url":"${ENDPOINT}"}`;
  expect(readLine(Buffer.from(line), ENDPOINT)).toEqual({
    customId: "a",
    model: "m",
    body: Buffer.from(body),
  });
});

test.each([
  ["null", "null", "invalid_json_line"],
  [
    "a prototype",
    `{"custom_id":"a","method":"POST","url":"${ENDPOINT}","body":{"__proto__":{}}}`,
    "invalid_json_line",
  ],
  ["deep nesting", `{"custom_id":"a","body":${"[".repeat(100)}${"]".repeat(100)}}`, "invalid_json_line"],
  ["invalid UTF-8", Buffer.from([0x7b, 0xff, 0x7d]), "invalid_json_line"],
  [
    "a number as id",
    `{"custom_id":1,"method":"POST","url":"${ENDPOINT}","body":{}}`,
    "missing_required_parameter",
  ],
  ["a long id", JSON.stringify({ ...chatLine(1, "m"), custom_id: "x".repeat(513) }), "invalid_custom_id"],
  [
    "half a surrogate pair",
    `{"custom_id":"\\ud800","method":"POST","url":"${ENDPOINT}","body":{}}`,
    "invalid_json_line",
  ],
  [
    "half a surrogate pair in a message",
    `{"custom_id":"a","method":"POST","url":"${ENDPOINT}","body":{"messages":[{"content":"\\ud800"}]}}`,
    "invalid_json_line",
  ],
  ["a list as body", JSON.stringify({ ...chatLine(1, "m"), body: [] }), "missing_required_parameter"],
])("a line with %s is named with its code", (_, line, code) => {
  const check = new InputCheck(ENDPOINT, LIMITS, () => true);
  const bytes = Buffer.from(line);
  check.add({ n: 7, startsAt: 0, sizeBytes: bytes.length, bytes });
  expect(check.errors).toMatchObject([{ line: 7, code }]);
});

test.each([
  ["unknown_parameter", "a\\u0000"],
  ["invalid_json_line", "a\\u0000\\ud800"],
])("the error %s of a line can be stored, whatever its members are called", (code, name) => {
  const check = new InputCheck(ENDPOINT, LIMITS, () => true);
  const bytes = Buffer.from(`{"${name}${"x".repeat(100)}":1}`);
  check.add({ n: 1, startsAt: 0, sizeBytes: bytes.length, bytes });
  const [error] = check.errors;
  expect(error?.code).toBe(code);
  expect([error?.message, error?.param].every((text) => isStorable(text ?? ""))).toBe(true);
  expect(error?.param?.length ?? 0).toBeLessThanOrEqual(64);
});

test("a check ends after 100 errors", async () => {
  const check = new InputCheck(ENDPOINT, LIMITS, () => true);
  await checkText("{\n".repeat(10_000), check);
  expect(check.errors).toHaveLength(100);
  expect(check.lines).toBe(100);
});

test("a large input is checked in short turns of the event loop", async () => {
  // 50,000 short lines, and lines of the largest size.
  const short = inputOf(numbers(49_990).map((n) => chatLine(n, "m")));
  const long = inputOf(
    numbers(10).map((n) =>
      chatLine(60_000 + n, "m", { messages: [{ role: "user", content: "x".repeat(1_000_000) }] }),
    ),
  );
  const bytes = Buffer.from(short + long);
  let check: InputCheck | undefined;
  const turnMs = await repeatedTurnMs(MAX_TURN_MS, async () => {
    check = new InputCheck(ENDPOINT, LIMITS, () => true);
    await checkBytes(bytes, check);
  });
  expect(turnMs).toBeLessThan(MAX_TURN_MS);
  expect([check?.errors, check?.lines]).toEqual([[], 50_000]);
});

test.each(["\n", " \r\n"])(
  "an input of blank lines (%j) is left after 50,000 of them, in short turns",
  async (blank) => {
    const bytes = Buffer.from(blank.repeat(4_000_000));
    let check: InputCheck | undefined;
    const turnMs = await repeatedTurnMs(MAX_TURN_MS, async () => {
      check = new InputCheck(ENDPOINT, LIMITS, () => true);
      await checkBytes(bytes, check);
    });
    expect(turnMs).toBeLessThan(MAX_TURN_MS);
    expect(check?.errors).toMatchObject([{ code: "too_many_lines", line: 50_001 }]);
    const few = new InputCheck(ENDPOINT, LIMITS, () => true);
    await checkText(blank.repeat(1_000) + inputOf([chatLine(1, "m")]) + blank.repeat(1_000), few);
    expect([few.errors, few.lines]).toEqual([[], 1]);
  },
);

function checkText(text: string, check: InputCheck): Promise<void> {
  return checkBytes(Buffer.from(text), check);
}

async function checkBytes(bytes: Buffer, check: InputCheck): Promise<void> {
  const parts = (function* () {
    for (let at = 0; at < bytes.length; at += 262_144) yield bytes.subarray(at, at + 262_144);
  })();
  const stored: LinePlace[] = [];
  await checkInput(
    {
      next: async () => parts.next() as IteratorResult<Buffer>,
      [Symbol.asyncIterator]() {
        return this;
      },
    },
    check,
    {
      ...LIMITS,
      signal: new AbortController().signal,
      store: async (lines) => void stored.push(...lines),
    },
  );
}
