import { mkdtempSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { configurationPage } from "../../scripts/configuration.ts";
import { readConfig, SECRETS, SETTINGS } from "../../src/config.ts";
import { serverAddress } from "../../src/db/server/server-address.ts";
import { parseServerUrl } from "../../src/db/server/server-url.ts";
import { parseRedisUrl } from "../../src/events/redis-address.ts";

const folder = mkdtempSync(join(tmpdir(), "secrets-"));
afterAll(() => rmSync(folder, { recursive: true }));
const KEY = `0x${"2".repeat(64)}`;

function fileOf(text: string): string {
  const path = join(folder, `secret-${Math.random()}`);
  writeFileSync(path, text);
  return path;
}

test("a secret may be in a file, with or without a line break at its end", () => {
  for (const end of ["", "\n", "\r\n"])
    expect(readConfig({ ROUTER_PRIVATE_KEY_FILE: fileOf(KEY + end) }).ROUTER_PRIVATE_KEY).toBe(KEY);
});

test("a secret is the same in every file that has it as UTF-8, and a file in another encoding is refused", () => {
  const read = (content: Buffer) => {
    const path = fileOf("");
    writeFileSync(path, content);
    return readConfig({ INTERNAL_SECRET_FILE: path }).INTERNAL_SECRET;
  };
  const secret = "a secret of more than 32 characters, é";
  expect(read(Buffer.from(`\ufeff${secret}\r\n`))).toBe(secret);
  for (const encoding of ["utf16le", "latin1"] as const)
    expect(() => read(Buffer.from(`\ufeff${secret}`, encoding))).toThrow(
      /INTERNAL_SECRET_FILE: \S+ is not UTF-8/,
    );
});

test("every secret setting accepts a file, and its documentation says so", () => {
  expect(SECRETS).toHaveLength(16);
  for (const name of SECRETS) {
    const { example } = SETTINGS[name as keyof typeof SETTINGS];
    const others = { DATABASE_URL: "postgresql:///zerograph", REDIS_URL: "redis+sentinel://127.0.0.1/m" };
    const config = readConfig({
      ...others,
      [name]: undefined,
      ...(name.endsWith("_URL") && { [name]: "" }),
      [`${name}_FILE`]: fileOf(example),
    });
    expect(config[name as keyof typeof config], name).not.toBeUndefined();
    expect(
      configurationPage()
        .split("\n")
        .find((line) => line.startsWith(`| \`${name}\` |`)),
    ).toContain("*Secret*");
  }
});

test("a file that cannot be read, is empty or is too large is reported by its variable", () => {
  const reported = (path: string) => () => readConfig({ INTERNAL_SECRET_FILE: path });
  expect(reported(join(folder, "missing"))).toThrow(
    /INTERNAL_SECRET_FILE: \S+missing cannot be read \(ENOENT\)/,
  );
  expect(reported(folder)).toThrow(/INTERNAL_SECRET_FILE: \S+ cannot be read \(EISDIR\)/);
  expect(reported(fileOf("\n"))).toThrow(/INTERNAL_SECRET_FILE: \S+ is empty/);
  const large = fileOf("");
  truncateSync(large, 10 * 2 ** 30);
  expect(reported(large)).toThrow(/INTERNAL_SECRET_FILE: \S+ is larger than 64 KiB/);
});

test("an empty file leaves an optional secret unset, and is refused where the process would use other data or fail", () => {
  const refused = SECRETS.filter((name) => {
    try {
      return readConfig({ [`${name}_FILE`]: fileOf("") })[name as keyof typeof SETTINGS] !== undefined;
    } catch (error) {
      expect((error as Error).message).toMatch(new RegExp(`${name}_FILE: \\S+ is empty`));
      return true;
    }
  });
  expect(refused.sort()).toEqual([
    "DATABASE_PASSWORD",
    "DATABASE_URL",
    "INTERNAL_SECRET",
    "RECEIPT_KEY",
    "REDIS_PASSWORD",
    "REDIS_URL",
    "ROUTER_PRIVATE_KEY",
    "RPC_URL",
  ]);
});

test("a wrong value in a file is reported by the setting, without the value", () => {
  expect(() => readConfig({ ROUTER_PRIVATE_KEY_FILE: fileOf("hunter2") })).toThrow(
    /ROUTER_PRIVATE_KEY: must be 0x/,
  );
  expect(() => readConfig({ ROUTER_PRIVATE_KEY_FILE: fileOf("hunter2") })).not.toThrow(/hunter2/);
});

test("a secret that is given twice is refused", () => {
  const twice = { INTERNAL_SECRET: "s".repeat(32), INTERNAL_SECRET_FILE: fileOf("t".repeat(32)) };
  expect(() => readConfig(twice)).toThrow(
    "INTERNAL_SECRET: is set, and so is INTERNAL_SECRET_FILE; set one of them",
  );
});

test("passwords of the database and of Redis may have any character", () => {
  const password = "a b/c@d:e?f#g%20+&=[é]";
  const config = readConfig({
    DATABASE_URL: "postgresql://zerograph@db:5432/zerograph?sslmode=disable&options=-c%20geqo%3Doff",
    DATABASE_PASSWORD_FILE: fileOf(`${password}\n`),
    REDIS_URL: "redis://redis:6379",
    REDIS_PASSWORD: password,
  });
  expect(serverAddress(config.DATABASE_URL ?? "")).toMatchObject({
    host: "db",
    user: "zerograph",
    database: "zerograph",
    password,
    options: "-c geqo=off",
  });
  expect(decodeURIComponent(new URL(config.REDIS_URL ?? "").password)).toBe(password);
  const hosts = readConfig({
    DATABASE_URL: "postgresql://zerograph@db1:5432,db2:5433/zerograph",
    DATABASE_REPLICA_URL: "postgresql://zerograph@db3/zerograph",
    DATABASE_PASSWORD: password,
    REDIS_URL: "redis+sentinel://events@s1:26379,s2/mymaster",
    REDIS_PASSWORD: password,
  });
  const { hosts: named, parameters } = parseServerUrl(hosts.DATABASE_URL ?? "");
  expect(named.map(({ host }) => host)).toEqual(["db1", "db2"]);
  expect(parameters.get("password")).toBe(password);
  expect(parseServerUrl(hosts.DATABASE_REPLICA_URL ?? "").parameters.get("password")).toBe(password);
  expect(parseRedisUrl(hosts.REDIS_URL ?? "")).toMatchObject({
    username: "events",
    password,
    master: "mymaster",
  });
  const socket = readConfig({
    DATABASE_URL: "postgresql:///zerograph?host=/run/pg",
    DATABASE_PASSWORD: password,
  });
  expect(serverAddress(socket.DATABASE_URL ?? "")).toMatchObject({ host: "/run/pg", password });
});

test("a password needs an address without one", () => {
  expect(() => readConfig({ DATABASE_PASSWORD: "x" })).toThrow("DATABASE_PASSWORD: requires DATABASE_URL");
  expect(() =>
    readConfig({ DATABASE_URL: "postgresql://me:mine@db/zerograph", DATABASE_PASSWORD: "x" }),
  ).toThrow("DATABASE_PASSWORD: is set, and DATABASE_URL has a password; set one of them");
});
