// @module-tag large
import { execFile, execFileSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import {
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { dirname, join, resolve } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { environmentOfStage, readStages } from "../../scripts/dockerfile.ts";
import { startNetwork } from "../support/chain/network.ts";
import { createServerDatabase, type OnEnd } from "../support/servers/database.ts";
import { newFolder, runProcess, startReady } from "../support/servers/process.ts";
import { startRedis } from "../support/servers/redis.ts";

/*
 * The file set of the image, without Docker: the build, and of node_modules what `npm prune --omit=dev --omit=optional`
 * leaves. `npm run image:size` carries out the Dockerfile's own steps.
 */
const [, image] = readStages();
const ends: (() => Promise<unknown>)[] = [];
const onEnd: OnEnd = (end) => void ends.unshift(async () => end());
let app: string;
let writable: string;
let settings: Readonly<Record<string, string>>;
let filesBefore: readonly string[];

beforeAll(async () => {
  // In this file system, so that packages can be linked instead of copied.
  mkdirSync(".cache", { recursive: true });
  app = mkdtempSync(resolve(".cache/deployed-"));
  onEnd(async () => rmSync(app, { recursive: true, force: true }));
  // Waits for the build.
  await runProcess({ script: "dist/gateway/cli/zerograph.js", args: ["help"], onEnd });
  for (const path of ["dist", "package.json", ...productionPackages()]) {
    mkdirSync(dirname(join(app, path)), { recursive: true });
    execFileSync("cp", ["-al", path, join(app, path)]);
  }
  filesBefore = listFiles(app);
  writable = newFolder(onEnd);
  const [{ rpcUrl }, redis, database] = await Promise.all([
    startNetwork(onEnd),
    startRedis(),
    createServerDatabase(onEnd),
  ]);
  onEnd(() => redis.stop());
  const secret = (name: string, value: string) => {
    const path = join(writable, name);
    writeFileSync(path, `${value}\n`);
    return path;
  };
  const places = ["ACCOUNTS", "INFERENCE", "STORAGE", "CHAIN"].map((name) => [
    `${name}_URL`,
    "http://127.0.0.1:9",
  ]);
  settings = {
    ...(image && environmentOfStage(image)),
    ...Object.fromEntries(places),
    HOST: "127.0.0.1",
    METRICS_PORT: "0",
    STORAGE_DIR: join(writable, "files"),
    DATA_DIR: join(writable, "data"),
    RPC_URL_FILE: secret("rpc-url", rpcUrl),
    REDIS_URL_FILE: secret("redis-url", redis.url),
    DATABASE_URL_FILE: secret("database-url", database),
    INTERNAL_SECRET_FILE: secret("internal-secret", randomBytes(24).toString("hex")),
  };
});
afterAll(async () => {
  for (const end of ends) await end();
});

const zerograph = (...args: string[]) => ({
  script: join(app, "dist/gateway/cli/zerograph.js"),
  folder: app,
  args,
  settings,
  onEnd,
});

test("the programs are in ASCII: Node gives other sources two bytes a character, for as long as it runs", () => {
  const programs = globSync("{chunks,gateway,src}/**/*.js", { cwd: join(app, "dist") });
  expect(programs.length).toBeGreaterThan(20);
  expect(programs.filter((path) => /[^\0-\x7f]/.test(readFileSync(join(app, "dist", path), "utf8")))).toEqual(
    [],
  );
});

test("the database is migrated by a command of its own", async () => {
  const migrated = await runProcess(zerograph("migrate"));
  expect(migrated, migrated.stderr).toMatchObject({ code: 0, stdout: /schema of this version/ });
});

test.each(["worker", "subgraph accounts", "gateway"])(
  "%s runs from the image's files with secrets in files, and the health check of the image accepts it",
  async (role) => {
    const started = await startReady(zerograph(...role.split(" ")));
    const [, port = ""] = await started.saw(/metrics ready at http:\/\/127\.0\.0\.1:(\d+)\/metrics/);
    const [health = ""] =
      image?.steps.filter(({ name }) => name === "HEALTHCHECK").map(({ text }) => text) ?? [];
    const [node, ...args] = JSON.parse(health.slice(health.indexOf("["))) as string[];
    expect(node).toBe("/usr/local/bin/node");
    const check = (metricsPort: string) =>
      promisify(execFile)("scripts/node", args, { env: { ...process.env, METRICS_PORT: metricsPort } });
    await check(port);
    expect(await started.end()).toEqual({ code: 0, signal: null });
    await expect(check(port)).rejects.toMatchObject({ code: 1 });
  },
);

test("the operators' commands run there", async () => {
  const commands = [
    [["migrate"], 0, /./],
    [["ledger:verify"], 0, /The ledger is exact/],
    [["usage:rebuild"], 0, /The usage of 0 requests/],
    [["status", "--json"], 1, /"running":false/],
    [["node:doctor", "--message", "nothing like it"], 1, /Unknown message/],
    [["watcher:accept", "deposits"], 1, /deposits/],
    [["help"], 0, /ledger:verify/],
    [["no-such-role"], 1, /There is no role no-such-role/],
  ] as const;
  for (const [args, code, said] of commands) {
    const ended = await runProcess(zerograph(...args));
    expect([ended.code, ended.stdout + ended.stderr], args.join(" ")).toEqual([
      code,
      expect.stringMatching(said),
    ]);
  }
});

test("nothing is written beside the product", () => {
  expect(listFiles(app)).toEqual(filesBefore);
});

/** The packages that the image has: those of the lock file that neither development nor an option needs. */
function productionPackages(): readonly string[] {
  const { packages } = JSON.parse(readFileSync("package-lock.json", "utf8")) as {
    packages: Record<
      string,
      { dev?: boolean; optional?: boolean; devOptional?: boolean; link?: boolean; peer?: boolean }
    >;
  };
  const kept = Object.entries(packages).flatMap(([path, { dev, optional, devOptional, link }]) =>
    path.startsWith("node_modules/") && !(dev || optional || devOptional || link) && existsSync(path)
      ? [path]
      : [],
  );
  // A package inside of another comes with it.
  return kept.filter((path) => !kept.some((other) => path.startsWith(`${other}/`)));
}

function listFiles(folder: string): readonly string[] {
  return readdirSync(folder, { recursive: true })
    .map((name) => {
      const { mtimeMs, size } = statSync(join(folder, String(name)));
      return `${name} ${size} ${mtimeMs}`;
    })
    .sort();
}
