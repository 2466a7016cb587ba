// @module-tag large
import { once } from "node:events";
import { existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import pg from "pg";
import { describe, expect, inject, onTestFinished, test } from "vitest";
import { startAnvil } from "../../src/devnet/chain/anvil.ts";
import { scaled } from "../support/machine.ts";
import { createServerDatabase } from "../support/servers/database.ts";
import { freePort } from "../support/servers/postgres.ts";
import { newFolder, runProcess } from "../support/servers/process.ts";

/** A port in use. */
async function takenPort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  return (server.address() as AddressInfo).port;
}

/** A refusal comes by itself; how soon depends on how busy the machine is. */
const PATIENCE_MS = 90_000;

/** An endpoint that answers every call with the chain id of another network. */
async function startOtherChain(): Promise<string> {
  const server = createServer((_, response) =>
    response
      .setHeader("content-type", "application/json")
      .end(JSON.stringify({ jsonrpc: "2.0", id: 1, result: "0x1" })),
  ).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/**
 * Runs a start that must fail, and returns its message for the operator: log lines are JSON and stand beside
 * it.
 */
async function refusalOf(settings: Record<string, string>, args: readonly string[] = []): Promise<string> {
  const startedMs = performance.now();
  const { code, stdout, stderr } = await runProcess({
    args,
    settings: { DATA_DIR: newFolder(), ...settings },
  });
  expect(performance.now() - startedMs).toBeLessThan(scaled(PATIENCE_MS));
  expect({ code, stdout }).toEqual({
    code: 1,
    stdout: expect.stringMatching(/^(?:zerograph is starting: .*\n)?$/),
  });
  expect(stderr).not.toMatch(/^\s+at /m);
  return stderr
    .split("\n")
    .filter((line) => line !== "" && !line.startsWith("{"))
    .join("\n");
}

describe("a start that cannot succeed is refused in one line that names the invalid setting", () => {
  test("an RPC_URL of a chain without the network's contracts", async () => {
    const anvil = await startAnvil();
    onTestFinished(() => anvil.stop());
    const refusal = await refusalOf({ NETWORK: "devnet", RPC_URL: anvil.url });
    expect(refusal).toMatch(
      /^RPC_URL: this chain has no contracts of NETWORK=devnet, such as routerVault at 0x/,
    );
    expect(refusal.split("\n")).toHaveLength(1);
  });

  test("a role and a subgraph that do not exist, and what is no argument of a role", async () => {
    const [role, subgraph, ...others] = await Promise.all([
      refusalOf({}, ["nonsense"]),
      refusalOf({}, ["subgraph", "nonsense"]),
      refusalOf({}, ["all", "--help"]),
      refusalOf({}, ["subgraph", "chain", "accounts"]),
    ]);
    expect(others).toEqual([
      "--help is not an argument of the role all.",
      "accounts is not an argument of the role subgraph.",
    ]);
    expect(role).toBe("There is no role nonsense: all, gateway, subgraph, worker.");
    expect(subgraph).toBe("There is no subgraph nonsense: accounts, inference, storage, chain.");
  });

  test("invalid settings, and settings that a role lacks: a line for each", async () => {
    const [wrong, lacking] = await Promise.all([
      refusalOf({ PORT: "many", NETWORK: "moonnet", INTERNAL_SECRET: "short" }),
      refusalOf({ DATABASE_URL: "postgresql://a@127.0.0.1:1/a", CHAIN_URL: "http://a" }, ["gateway"]),
    ]);
    expect(wrong.split("\n")).toEqual([
      "The configuration is wrong:",
      expect.stringMatching(/^ {2}NETWORK: .*NETWORK=/),
      expect.stringMatching(/^ {2}PORT: .*PORT=4000$/),
      expect.stringMatching(/^ {2}INTERNAL_SECRET: /),
    ]);
    expect(lacking.split("\n")[0]).toBe("The role gateway needs more settings:");
    expect(lacking.match(/\w+(?=: is missing, for example)/g)).toEqual([
      "REDIS_URL",
      "RPC_URL",
      "INTERNAL_SECRET",
      "ACCOUNTS_URL",
      "INFERENCE_URL",
      "STORAGE_URL",
    ]);
  });

  test("a wrong value in the .env of the working directory, by every command; the environment wins", async () => {
    const folder = newFolder();
    writeFileSync(join(folder, ".env"), "\uFEFFNETWORK=mainnet\nLOG_LEVEL = 'loud' # all of it\n");
    const refusal = async (name: string, settings: Record<string, string> = {}) => {
      const args = name === "cli/accept-reorg" ? ["deposits"] : [];
      const ran = await runProcess({ script: `dist/gateway/${name}.js`, args, folder, settings });
      expect(ran, name).toMatchObject({ code: 1, stdout: "" });
      return ran.stderr.trim().split("\n");
    };
    const commands = ["main", "cli/status", "cli/accept-reorg", "cli/verify-ledger", "cli/doctor"];
    for (const lines of await Promise.all(commands.map((name) => refusal(name))))
      expect(lines.filter((line) => line.startsWith("  LOG_LEVEL: ")).length).toBe(1);
    const [network, missing] = await Promise.all([
      refusal("main", { LOG_LEVEL: "info" }),
      refusal("main", { ENV_FILE: "missing.env" }),
    ]);
    expect(network[1]).toMatch(/^ {2}ROUTER_PRIVATE_KEY: required with NETWORK=mainnet/);
    expect(missing).toEqual(["ENV_FILE: missing.env cannot be read (ENOENT)."]);
  });

  test("arguments that a command does not take, before it does anything", async () => {
    const run = (name: string, args: readonly string[], settings: Record<string, string> = {}) =>
      runProcess({ script: `dist/gateway/cli/${name}.js`, args, folder: newFolder(), settings });
    const retention = { RETENTION_REQUESTS_MONTHS: "1", RETENTION_ARCHIVE_FOLDER: newFolder() };
    const refused = await Promise.all([
      run("retention", ["--dry-rnu"], retention),
      run("retention", ["--dry-run=true"], retention),
      run("retention", [], { ...retention, npm_config_dry_run: "true" }),
      run("verify-ledger", ["--ful"]),
      run("migrate", ["now"]),
      run("rebuild-usage", ["--bogus"]),
      run("accept-reorg", []),
      run("accept-reorg", ["vault", "deposits"]),
      run("status", ["--jsno"]),
    ]);
    for (const { code, stdout, stderr } of refused)
      expect([code, stdout, stderr.trim()]).toEqual([1, "", expect.stringMatching(/: npm run \S.*$/)]);
    const commands = ["retention", "verify-ledger", "migrate", "rebuild-usage", "accept-reorg", "status"];
    for (const { code, stdout, stderr } of await Promise.all(commands.map((name) => run(name, ["--help"]))))
      expect([code, stdout, stderr]).toEqual([0, expect.stringMatching(/^npm run \S/), ""]);
  });

  test("a command that needs a database where there is none, before it creates anything", async () => {
    const missing = join(newFolder(), "typo");
    const retention = { RETENTION_REQUESTS_MONTHS: "1", RETENTION_ARCHIVE_FOLDER: newFolder() };
    const commands = [
      ["verify-ledger", []],
      ["verify-ledger", ["--full"]],
      ["retention", ["--dry-run"]],
      ["rebuild-usage", []],
      ["accept-reorg", ["deposits"]],
    ] as const;
    const runAll = (settings: Record<string, string>) =>
      Promise.all(
        commands.map(([name, args]) =>
          runProcess({
            script: `dist/gateway/cli/${name}.js`,
            args,
            // None of them needs the private key of the router's wallet.
            settings: { NETWORK: "mainnet", ...retention, ...settings },
          }),
        ),
      );
    for (const { code, stdout, stderr } of await runAll({ DATA_DIR: missing }))
      expect([code, stdout, stderr]).toEqual([
        1,
        "",
        `DATA_DIR: there is no database of zerograph in the folder ${missing}.\n`,
      ]);
    expect(existsSync(missing)).toBe(false);
    const archives = await runProcess({
      script: "dist/gateway/cli/verify-ledger.js",
      args: ["--full", "--archives"],
      settings: { DATA_DIR: missing },
    });
    expect(archives).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/^RETENTION_ARCHIVE_FOLDER: required/),
    });

    if (!inject("postgresUrl")) return;
    const url = await createServerDatabase();
    for (const { code, stdout, stderr } of await runAll({ DATABASE_URL: url }))
      expect([code, stdout, stderr]).toEqual([
        1,
        "",
        expect.stringMatching(/^DATABASE_URL: .* cannot be used \(it has no tables of zerograph\)\n$/),
      ]);
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    onTestFinished(() => client.end());
    const { rows } = await client.query("select tablename from pg_tables where schemaname = 'public'");
    expect(rows).toEqual([]);
  });

  test("an RPC_URL that does not answer, and one of another chain", async () => {
    const other = await startOtherChain();
    const [nobody, wrong] = await Promise.all([
      refusalOf({ RPC_URL: `http://127.0.0.1:${await freePort()}` }),
      refusalOf({ RPC_URL: other }),
    ]);
    expect(nobody).toMatch(/^RPC_URL does not answer: 127\.0\.0\.1:\d+\.$/);
    expect(wrong).toMatch(/^RPC_URL has chain id 1, but NETWORK=devnet has 16602 \(127\.0\.0\.1:\d+\)\.$/);
  });

  test("a DATABASE_URL that does not answer, and a DATA_DIR that is a file", async () => {
    const file = join(newFolder(), "file");
    writeFileSync(file, "");
    const [database, folder] = await Promise.all([
      refusalOf({ DATABASE_URL: `postgresql://zerograph@127.0.0.1:${await freePort()}/zerograph` }),
      refusalOf({ DATA_DIR: file }),
    ]);
    expect(database).toMatch(/^DATABASE_URL: 127\.0\.0\.1:\d+\/zerograph cannot be used \(.+\)$/);
    expect(folder).toMatch(/^DATA_DIR: .*$/);
  });

  test("a DATA_DIR that cannot be locked or written, and a damaged database in it", async () => {
    const [lock, database] = [newFolder(), newFolder()];
    mkdirSync(join(lock, "devnet/lock.sqlite"), { recursive: true });
    mkdirSync(join(database, "postgres"));
    writeFileSync(join(database, "postgres/PG_VERSION"), "none");
    const refusals = await Promise.all(
      [lock, database, "/proc/none/data"].map((DATA_DIR) => refusalOf({ DATA_DIR })),
    );
    const remedy = "Check its owner and its disk, or set DATA_DIR to another folder.";
    expect(refusals).toEqual([
      `DATA_DIR: the folder ${lock}/devnet cannot be used (unable to open database file). ${remedy}`,
      expect.stringMatching(/^DATA_DIR: the database in \S+\/postgres cannot be opened \(.+\)\. /),
      expect.stringMatching(
        /^DATA_DIR: the folder \/proc\/none\/data\S* cannot be used \(ENOENT: .*\)\. Check its owner/,
      ),
    ]);
  });

  test("a folder that cannot be created or written, before a chain is created", async () => {
    const data = newFolder();
    const months = { RETENTION_REQUESTS_MONTHS: "1" };
    const refusals = await Promise.all([
      refusalOf({ DATA_DIR: data, STORAGE_DIR: "/dev/null" }),
      refusalOf({ STORAGE_DIR: "/proc/x" }),
      refusalOf({ ...months, RETENTION_ARCHIVE_FOLDER: "/proc" }),
    ]);
    expect(refusals).toEqual([
      expect.stringMatching(
        /^STORAGE_DIR: the folder \/dev\/null cannot be used \(ENOTDIR: .*\)\. Check its/,
      ),
      expect.stringMatching(/^STORAGE_DIR: the folder \/proc\/x cannot be used \(ENOENT: .*\)\. Check its/),
      expect.stringMatching(/^RETENTION_ARCHIVE_FOLDER: the folder \/proc cannot be used \(ENOENT: /),
    ]);
    expect(readdirSync(data)).toEqual([]);
  });

  test.skipIf(!inject("postgresUrl"))("a REDIS_URL that does not answer", async () => {
    const said = await refusalOf({
      DATABASE_URL: await createServerDatabase(),
      REDIS_URL: `redis://127.0.0.1:${await freePort()}`,
    });
    expect(said).toMatch(/^REDIS_URL: 127\.0\.0\.1:\d+ is unreachable \(.+\)$/);
  });

  test("a METRICS_PORT in use is named before anything else is tried", async () => {
    const port = await takenPort();
    expect(await refusalOf({ METRICS_PORT: `${port}` })).toMatch(
      new RegExp(`^METRICS_PORT: port ${port} is in use`),
    );
  });

  test("ports that the processes cannot have, before any of them starts", async () => {
    const taken = await takenPort();
    const shared = {
      ...{ PROCESSES: "2", DATABASE_URL: "postgresql://a@127.0.0.1:1/a", REDIS_URL: "redis://127.0.0.1:1" },
      RPC_URL: "http://127.0.0.1:1",
    };
    const [beyond, same, alone, foreign] = await Promise.all([
      refusalOf({ ...shared, METRICS_PORT: "65535" }),
      refusalOf({ ...shared, PORT: "4185", METRICS_PORT: "4184" }, ["gateway"]),
      refusalOf({ PORT: "4199", METRICS_PORT: "4199" }),
      refusalOf({ ...shared, METRICS_PORT: String(taken - 1) }),
    ]);
    expect(beyond).toMatch(/^METRICS_PORT: 2 processes need the ports 65535 to 65536, .*$/);
    expect(same).toMatch(/^METRICS_PORT: 2 processes need the ports 4184 to 4185, but PORT is 4185\. .*$/);
    expect(alone).toBe("METRICS_PORT: PORT is 4199 too. Set METRICS_PORT to another port.");
    expect(foreign).toMatch(
      new RegExp(`^METRICS_PORT: port ${taken} of process 1 is in use by another process\\. .*$`),
    );
  });

  test("a PORT in use by another process, before a chain or a folder is created", async () => {
    const port = await takenPort();
    const folder = join(newFolder(), "data");
    const said = await refusalOf({ DATA_DIR: folder, PORT: String(port) });
    expect(said).toMatch(new RegExp(`^PORT: port ${port} is in use by another process`));
    expect(existsSync(folder)).toBe(false);
  });

  test("a file that a setting names and that is wrong, before a chain or a folder is created", async () => {
    const wrong = join(newFolder(), "wrong.json");
    writeFileSync(wrong, "[");
    const names = ["PROVIDERS_FILE", "ATTESTATION_MEASUREMENTS", "TRUSTED_DOCUMENTS"];
    const refusals = await Promise.all(
      names.flatMap((name) =>
        [wrong, "/nowhere.json", "/dev/zero", "/tmp"].map(async (path) => {
          const folder = join(newFolder(), "data");
          const said = await refusalOf({ DATA_DIR: folder, [name]: path });
          expect(existsSync(folder), name).toBe(false);
          return said.startsWith(name) && said.includes(path);
        }),
      ),
    );
    expect(refusals).toEqual(Array.from(refusals, () => true));
  });

  test("an address that is not of this machine", async () => {
    expect(await refusalOf({ HOST: "192.0.2.1", PORT: "4000" })).toMatch(
      /^HOST, PORT: cannot listen on port 4000 of 192\.0\.2\.1 \(EADDRNOTAVAIL\)/,
    );
  });
});
