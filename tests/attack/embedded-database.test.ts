// @module-tag large
import { monitorEventLoopDelay } from "node:perf_hooks";
import { describe, expect, test } from "vitest";
import { scaled } from "../support/machine.ts";
import { useStack } from "../support/stack.ts";

const stack = useStack({ DATABASE_URL: "" }, "folder");

const STREAM = `0x${"5".repeat(64)}`;

describe("the embedded database of a running product", () => {
  test("while a statement computes for seconds, requests that need no database are answered at once", async () => {
    const delay = monitorEventLoopDelay({ resolution: 5 });
    delay.enable();
    const begunAt = performance.now();
    let isDone = false;
    const statement = stack()
      .app.database.rows("select count(*) from generate_series(1, $1::int)", [5_000_000])
      .finally(() => {
        isDone = true;
      });
    for (let n = 0; n < 10; n++) expect((await call("kv_getStatus", [])).result).toBe(true);
    expect(isDone).toBe(false);
    await statement;
    delay.disable();
    expect(delay.max / 1e6).toBeLessThan((performance.now() - begunAt) / 2);
  });

  test("keys of 3 MB are refused by name, and delay no other request", async () => {
    const delay = monitorEventLoopDelay({ resolution: 5 });
    const key = Buffer.alloc(3_000_000, "k").toString("base64");
    delay.enable();
    for (const text of [key, key.slice(0, 100_000)])
      expect((await call("kv_getValue", [STREAM, text, 0, 10])).error).toEqual({
        code: -32_602,
        message: "Invalid params: key",
        data: "longer than 65536 bytes",
      });
    delay.disable();
    expect(delay.max / 1e6).toBeLessThan(scaled(500));
  });
});

type Answer = {
  readonly result?: unknown;
  readonly error?: { readonly code: number; readonly message: string; readonly data?: string };
};

async function call(method: string, params: readonly unknown[]): Promise<Answer> {
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });
  const headers = { "content-type": "application/json" };
  const response = await fetch(stack().origin, { method: "POST", headers, body });
  return (await response.json()) as Answer;
}
