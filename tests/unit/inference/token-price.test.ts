import { once } from "node:events";
import { createServer } from "node:http";
import { afterAll, expect, test } from "vitest";
import { TokenPriceService } from "../../../src/inference/billing/token-price.service.ts";
import { readUsd } from "../../../src/inference/routing/routing-preferences.ts";
import { createLogger } from "../../../src/kernel/log.ts";

let body = "{}";
const server = createServer((_, response) => void response.end(body)).listen(0, "127.0.0.1");
await once(server, "listening");
const { port } = server.address() as { port: number };
afterAll(() => void server.close());

let nowMs = 0;
const clock = { now: () => new Date(nowMs), monotonicMs: () => nowMs };
const price = (setting: string | undefined) =>
  new TokenPriceService({ setting, clock, log: createLogger("silent") });

test("a fixed price is known at once, and without the setting there is no price", () => {
  expect(price("0.25").current()).toBe(readUsd("0.25"));
  expect(price(undefined).current()).toBeUndefined();
});

test.each(["0.5", '{"usd":0.5}', '{"price":"0.5"}', '{"usd_price":0.50}', '"0.5"'])(
  "a document %s gives a price",
  async (document) => {
    body = document;
    const service = price(`http://127.0.0.1:${port}/`);
    await service.refresh();
    expect(service.current()).toBe(readUsd("0.5"));
  },
);

test.each([
  "",
  "{}",
  "null",
  '{"usd":-1}',
  '{"usd":0}',
  '{"usd":"many"}',
  '{"usd":{"usd":1}}',
  "x".repeat(100_000),
])("a document %j gives no price", async (document) => {
  body = document;
  await expect(price(`http://127.0.0.1:${port}/`).refresh()).rejects.toThrow();
});

test("a price that cannot be refreshed is used for 15 minutes, and then is unavailable", async () => {
  body = '{"usd":0.5}';
  const service = price(`http://127.0.0.1:${port}/`);
  expect(() => service.current()).toThrow("currently unavailable");
  await service.refresh();
  body = "down";
  await expect(service.refresh()).rejects.toThrow();
  nowMs += 899_999;
  expect(service.current()).toBe(readUsd("0.5"));
  nowMs += 1;
  expect(() => service.current()).toThrow("currently unavailable");
});
