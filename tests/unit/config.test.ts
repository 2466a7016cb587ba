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

test("a mistake says in words what the setting allows, whatever its type", () => {
  const rules = {
    PORT: "must be a whole number from 0 to 65535",
    OTEL_TRACES_SAMPLER_ARG: "must be a number from 0 to 1",
    START_BLOCK: "must be a whole number",
    PROCESSES: "must be auto or a whole number from 1 to 256",
    NETWORK: "must be testnet, mainnet or devnet",
    WAIT_FINALIZED: "must be on or off",
    PUBLIC_URL: "must be an http or https URL",
    RPC_URL: "must be an http or https URL",
    VAULT_EVENT: "'!!wrong' is not a Solidity event",
    VAULT_ACCOUNT_ARGUMENT:
      "the event Deposited has no argument '!!wrong' of the type address; it has address account, uint256 amount",
  };
  for (const [name, rule] of Object.entries(rules))
    expect(() => readConfig({ [name]: "!!wrong" }), name).toThrow(`${name}: ${rule}`);
  for (const name of Object.keys(SETTINGS)) {
    const { message = "" } = mistakeOf({ [name]: "!!wrong" }) ?? {};
    expect(message, name).not.toMatch(/Invalid|expected|received|NaN|undefined|\^|\\/);
  }
});

test("numbers are decimal, and in their range", () => {
  for (const PORT of ["0x10", "1e3", " ", "4000.5", "70000", "-1"])
    expect(mistakeOf({ PORT })?.message, PORT).toContain("PORT: must be a whole number from 0 to 65535");
  expect(readConfig({ PORT: "0", OTEL_TRACES_SAMPLER_ARG: "0.5" })).toMatchObject({
    PORT: 0,
    OTEL_TRACES_SAMPLER_ARG: 0.5,
  });
});

test("a private key of a wallet is in the range of its curve, and other keys are any 32 bytes", () => {
  const order = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n;
  const hex = (value: bigint) => `0x${value.toString(16).padStart(64, "0")}`;
  const outside = [hex(0n), hex(order), hex(2n ** 256n - 1n)];
  for (const name of ["ROUTER_PRIVATE_KEY", "KV_PRIVATE_KEY"]) {
    for (const key of outside) {
      const message = mistakeOf({ [name]: key })?.message;
      expect(message).toMatch(new RegExp(`${name}: must be a private key .*, for example ${name}=0x1`));
      expect(message).not.toContain(key.slice(2));
    }
    for (const key of [hex(1n), hex(order - 1n)]) expect(mistakeOf({ [name]: key }), key).toBeUndefined();
    for (const text of ["0x12", "hunter2"])
      expect(mistakeOf({ [name]: text })?.message).toContain(
        `${name}: must be 0x and 64 hexadecimal digits, for`,
      );
  }
  for (const name of ["RECEIPT_KEY", "KV_ENCRYPTION_KEY"])
    for (const key of outside) expect(mistakeOf({ [name]: key }), name).toBeUndefined();
});

function mistakeOf(environment: Readonly<Record<string, string>>): Error | undefined {
  try {
    readConfig(environment);
    return undefined;
  } catch (error) {
    return error as Error;
  }
}

test("the largest prompt must fit into the memory that one account may hold", () => {
  const both = (MAX_PROMPT_MIB: string, REQUEST_MEMORY_MIB: string) =>
    mistakeOf({ MAX_PROMPT_MIB, REQUEST_MEMORY_MIB })?.message;
  expect(mistakeOf({ MAX_PROMPT_MIB: "200" })?.message).toContain(
    "MAX_PROMPT_MIB: must be at most 42 with REQUEST_MEMORY_MIB=256, for example MAX_PROMPT_MIB=42",
  );
  expect(mistakeOf({ REQUEST_MEMORY_MIB: "128" })?.message).toContain("MAX_PROMPT_MIB: must be at most 21 ");
  expect(both("42", "256")).toBeUndefined();
  expect(both("256", "1536")).toBeUndefined();
  expect(both("256", "1535")).toContain("MAX_PROMPT_MIB: must be at most 255 ");
});

test("a setting that requires another one says so", () => {
  expect(() => readConfig({ NETWORK: "mainnet" })).toThrow(
    "ROUTER_PRIVATE_KEY: required with NETWORK=mainnet",
  );
  expect(() => readConfig({ REDIS_URL: "redis://127.0.0.1" })).toThrow(
    "DATABASE_URL: required with REDIS_URL",
  );
});

test("a setting that would have no effect is refused, since an operator relies on it", () => {
  const server = { DATABASE_URL: "postgresql://z@127.0.0.1/z" };
  const ca = /REDIS_CA_FILE: requires TLS, for example REDIS_URL=rediss:/;
  const sentinel = /REDIS_SENTINEL_PASSWORD: requires sentinels, for example REDIS_URL=redis\+sentinel:/;
  for (const url of ["", "redis://127.0.0.1", "redis+sentinel://127.0.0.1/m"])
    expect(mistakeOf({ ...server, REDIS_URL: url, REDIS_CA_FILE: "ca.pem" })?.message, url).toMatch(ca);
  for (const url of ["", "redis://127.0.0.1", "rediss+cluster://127.0.0.1"])
    expect(mistakeOf({ ...server, REDIS_URL: url, REDIS_SENTINEL_PASSWORD: "x" })?.message, url).toMatch(
      sentinel,
    );
  const both = { REDIS_CA_FILE: "ca.pem", REDIS_SENTINEL_PASSWORD: "x" };
  expect(mistakeOf({ ...server, ...both, REDIS_URL: "rediss+sentinel://127.0.0.1/m" })).toBeUndefined();
  expect(mistakeOf({ DATABASE_POOLER: "transaction" })?.message).toContain(
    "DATABASE_URL: required with DATABASE_POOLER",
  );
  const key = { NETWORK: "testnet", ROUTER_PRIVATE_KEY: `0x${"1".repeat(64)}` };
  expect(mistakeOf({ ...key, ATTESTATION_MEASUREMENTS: "m.json" })?.message).toContain(
    "ATTESTATION_COLLATERAL_URL: required with ATTESTATION_MEASUREMENTS",
  );
});

test("no setting is blank: such a text names no folder, host or secret", () => {
  for (const name of Object.keys(SETTINGS))
    expect(mistakeOf({ [name]: " ".repeat(40) })?.message, name).toContain(`${name}: `);
  expect(mistakeOf({ DATA_DIR: "\t" })?.message).toContain("DATA_DIR: is blank, for example DATA_DIR=.data");
});

test("a URL to which paths are appended has neither a query nor a fragment, and loses slashes at its end", () => {
  const names = ["PUBLIC_URL", "ACCOUNTS_URL", "ATTESTATION_COLLATERAL_URL", "NODE_CONSENSUS_URL"] as const;
  for (const name of names) {
    for (const end of ["?key=1", "/a?", "/#", "/a#b"])
      expect(mistakeOf({ [name]: `https://a.example${end}` })?.message, end).toContain(
        `${name}: must be a URL without a query, a fragment or a password, for example ${name}=`,
      );
    expect(mistakeOf({ [name]: "https://user:pw@a.example" })?.message).toContain(
      `${name}: must be a URL without`,
    );
    expect(readConfig({ [name]: "https://a.example/b//" })[name]).toBe("https://a.example/b");
  }
  expect(mistakeOf({ NODE_OTHER_CONSENSUS_URLS: "http://a,http://b?key=1" })?.message).toContain("a query");
  for (const origin of ["https://a.example?x", "https://a.example#x", "https://b@a.example"])
    expect(mistakeOf({ CORS_ORIGINS: origin })?.message).toContain(
      "CORS_ORIGINS: must be a scheme and a host",
    );
});

test("a limit of the graph is one number, given once", () => {
  const given = (GRAPH_LIMITS: string) => mistakeOf({ GRAPH_LIMITS })?.message;
  expect(given("depth=12=13")).toContain("GRAPH_LIMITS: must be name=number");
  expect(given("depth=12, depth=13")).toContain("GRAPH_LIMITS: has depth twice");
  expect(given("depth = 12,cost=5")).toBeUndefined();
});
