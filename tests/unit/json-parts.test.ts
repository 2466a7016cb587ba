import { randomBytes } from "node:crypto";
import { describe, expect, test } from "vitest";
import type { LongText } from "../../src/rest/json-parts/json-parts.ts";
import { JsonScanner } from "../../src/rest/json-parts/json-scanner.ts";
import { readJson } from "../../src/rest/rpc/rpc-json.ts";
import { readBase64 } from "../../src/rest/rpc/rpc-params.ts";

const MAX_TEXT = 20_000;
const data = randomBytes(9_000);
const base64 = data.toString("base64");
/** Escaped as PHP does it, and as no writer does. */
const escaped = base64.replaceAll("/", "\\/").replace("A", "\\u0041");

function scan(body: Buffer, chunkBytes = body.length) {
  let reserved = 0;
  const scanner = new JsonScanner({
    maxTextLength: MAX_TEXT,
    reserve: (bytes) => {
      reserved += bytes;
    },
  });
  for (let at = 0; at < body.length; at += chunkBytes) scanner.feed(body.subarray(at, at + chunkBytes));
  const parts = scanner.end();
  return { parts, reserved: () => reserved, read: () => readJson(parts) };
}

/** A JSON value, with the length and bytes of each long text. */
const codeOf = (run: () => unknown) => {
  try {
    return { value: run() };
  } catch (error) {
    return { code: (error as { code?: number }).code };
  }
};

test.each([1, 3, 4_096, 1_000_000])(
  "texts are extracted wherever a body is split, at every %i bytes",
  (chunk) => {
    const body = `\ufeff{"id":18446744073709551615,"é":"\\"\\u00e9\\\\","a":["${base64}",{"data":"${escaped}"},"${"é".repeat(3_000)}"],"${"k".repeat(5_000)}":1,"last":"${"b".repeat(4_096)}"}`;
    const read = scan(Buffer.from(body), chunk).read() as Record<string, unknown>;
    const [first, second, third] = read.a as [LongText, { data: LongText }, LongText];
    expect([read.id, read.é, read.last]).toEqual([18_446_744_073_709_551_615n, '"é\\', "b".repeat(4_096)]);
    for (const text of [first, second.data])
      expect(readBase64(text, "data", data.length).equals(data)).toBe(true);
    expect([third.bytes, third.length]).toEqual([undefined, 6_000]);
  },
);

describe("a body is refused as the parser would refuse it", () => {
  const long = "b".repeat(MAX_TEXT + 10);
  test.each<[string, Buffer | string]>([
    ["a text without an end", `["${base64}`],
    ["a text that ends in a backslash", `["${base64}\\"`],
    ["an unknown escape", `["${base64}\\x"]`],
    ["an escape without its digits", `["${base64}\\u00g0"]`],
    ["a line feed in a text", `["${base64}\n"]`],
    ["a line feed at the beginning of a text that is not kept", `["\n${long}"]`],
    ["a line feed at the end of a text that is not kept", `["${long}\n"]`],
    ["bytes in a text that are not UTF-8", Buffer.from(`["${base64}\xff"]`, "latin1")],
    ["bytes that are not UTF-8 in a text that is not kept", Buffer.from(`["${long}\xc3"]`, "latin1")],
    ["a truncated character at the end", Buffer.from('["a"]\xc3', "latin1")],
    ["a misplaced text", `["a" "${base64}"]`],
  ])("%s", (_name, body) => {
    for (const chunk of [1, 7, 1_000_000]) {
      const { read } = scan(Buffer.from(body), chunk);
      expect(codeOf(read)).toEqual({ code: -32_700 });
    }
  });

  test.each<[string, string]>([
    ["endless lists", "[".repeat(9_000_000)],
    ["endless numbers", `[${"1,".repeat(4_500_000)}1]`],
    ["endless white space", " ".repeat(9_000_000)],
    ["endless short texts", `[${'"",'.repeat(100_000)}1]`],
    ["endless texts of escapes", `["${'\\"'.repeat(4_200_000)}"]`],
  ])("%s", (_name, body) => {
    const { read, parts } = scan(Buffer.from(body), 65_536);
    expect(codeOf(read)).toEqual({ code: -32_600 });
    expect(parts.json.length).toBe(0);
  });
});

test("a placeholder of another process is an ordinary text", () => {
  expect(scan(Buffer.from('["long-text-0:0"]')).read()).toEqual(["long-text-0:0"]);
});

test("a key that the prototype also has is an ordinary key", () => {
  const read = scan(Buffer.from(`{"__proto__":{"a":"${base64}"}}`)).read() as object;
  expect(Object.getPrototypeOf(read)).toBe(Object.prototype);
  expect(Object.keys(read)).toEqual(["__proto__"]);
});

test("the reserved memory equals what is kept: three quarters of base64, and none of other texts", () => {
  const [count, short] = [100, randomBytes(6_000).toString("base64")];
  const texts = (text: string) => Buffer.from(JSON.stringify(Array(count).fill(text)));
  expect(scan(texts(short), 65_536).reserved()).toBe(MAX_TEXT + count * 6_000);
  expect(scan(texts("é".repeat(5_000)), 65_536).reserved()).toBe(MAX_TEXT);
  expect(scan(texts("A".repeat(MAX_TEXT + 4)), 65_536).reserved()).toBe(MAX_TEXT);
});
