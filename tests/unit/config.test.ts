import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { envExample } from "../../scripts/env-example.ts";
import { readConfig, SETTINGS } from "../../src/config.ts";

test(".env.example lists every setting with its text and its default", async () => {
  await expect(envExample()).toMatchFileSnapshot("../../.env.example");
  expect(readFileSync(".env.example", "utf8")).toContain("# NETWORK=testnet");
});

test("every example is a value that the setting accepts", () => {
  for (const [name, { schema, example }] of Object.entries(SETTINGS))
    expect(schema.safeParse(example).success, name).toBe(true);
});

test("the defaults are a development network that listens on this machine only", () => {
  expect(readConfig({})).toMatchObject({
    NETWORK: "devnet",
    HOST: "127.0.0.1",
    PORT: 4000,
    DATA_DIR: ".data",
  });
});

test("all mistakes are reported at once, each with its variable and an example", () => {
  const wrong = { NETWORK: "moonnet", PORT: "70000", DATABASE_URL: "mysql://x", CONFIRMATIONS: "-1" };
  expect(() => readConfig(wrong)).toThrow(
    /wrong:\n {2}NETWORK: .*NETWORK=testnet\n {2}PORT: .*PORT=4000\n {2}DATABASE_URL: .*postgresql:.*\n {2}CONFIRMATIONS: .*=12/,
  );
});

test("a setting that requires another one says so", () => {
  expect(() => readConfig({ NETWORK: "mainnet" })).toThrow(
    "ROUTER_PRIVATE_KEY: required with NETWORK=mainnet",
  );
  expect(() => readConfig({ REDIS_URL: "redis://127.0.0.1" })).toThrow(
    "DATABASE_URL: required with REDIS_URL",
  );
});
