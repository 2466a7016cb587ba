import { execFile } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { parse } from "yaml";
import { readConfig } from "../../../src/config.ts";

const KEY = `0x${"1".repeat(64)}`;
const { services } = parse(readFileSync("docs/deploy/compose.yaml", "utf8"), { merge: true }) as {
  services: Record<"secrets", { command: [string] }> &
    Record<"gateway", { environment: Record<string, string> }>;
};

let volume: string;
beforeEach(() => {
  volume = mkdtempSync(join(tmpdir(), "secrets-"));
  const folder = volume;
  onTestFinished(() => rmSync(folder, { recursive: true }));
});

/** Runs the service `secrets` on the volume, as each `docker compose up` does; only root may change owners. */
async function up(routerKey = KEY): Promise<void> {
  const script = services.secrets.command[0].replaceAll("$$", "$").replaceAll("/secrets", volume);
  const env = { ...process.env, ROUTER_PRIVATE_KEY: routerKey };
  await promisify(execFile)("bash", ["-euc", `chown() { :; }\n${script}`], { env });
}

/** What a process of the deployment reads from the volume. */
function config() {
  const files = Object.entries(services.gateway.environment)
    .filter(([name]) => name.endsWith("_FILE"))
    .map(([name, path]) => [name, path.replace("/secrets", volume)]);
  const { DATABASE_URL } = services.gateway.environment;
  return readConfig({ ...Object.fromEntries(files), DATABASE_URL });
}

const textOf = (name: string) => readFileSync(join(volume, name), "utf8");
const write = (name: string, text: string) => writeFileSync(join(volume, name), text);
const remove = (name: string) => rmSync(join(volume, name));

test("the first start creates every secret that a process reads, and later ones keep them", async () => {
  await up();
  const first = config();
  expect(first).toMatchObject({
    INTERNAL_SECRET: expect.stringMatching(/^\S{44}$/),
    BATCH_FILES_SECRET: expect.stringMatching(/^\S{44}$/),
    ROUTER_PRIVATE_KEY: KEY,
  });
  expect(new Set([first.INTERNAL_SECRET, first.BATCH_FILES_SECRET, textOf("postgres-password")]).size).toBe(
    3,
  );
  await up();
  expect(config()).toEqual(first);
});

test("a start that was interrupted after any file is continued by the next", async () => {
  await up();
  const written = ["batch-files-secret", "internal-secret", "postgres-password", "router-private-key"];
  for (const [n, name] of written.entries()) {
    for (const later of written.slice(n)) rmSync(join(volume, later), { force: true });
    const before = n > 0 ? textOf("batch-files-secret") : undefined;
    await up();
    expect(config().BATCH_FILES_SECRET, name).toMatch(/^\S{44}$/);
    if (before !== undefined) expect(textOf("batch-files-secret")).toBe(before);
  }
  expect(readdirSync(volume).sort()).toEqual(expect.arrayContaining(written));
});

describe("the volume of an earlier version", () => {
  beforeEach(() => {
    write("internal-secret", "i".repeat(44));
    write("postgres-password", "p".repeat(44));
    write("router-private-key", KEY);
  });

  test("gets no secret of batch files, and its processes start", async () => {
    await up();
    expect(textOf("batch-files-secret")).toBe("");
    expect(config()).toMatchObject({ BATCH_FILES_SECRET: undefined, INTERNAL_SECRET: "i".repeat(44) });
  });

  test("gets none either when INTERNAL_SECRET is replaced in the same start", async () => {
    remove("internal-secret");
    await up();
    expect(config()).toMatchObject({
      BATCH_FILES_SECRET: undefined,
      INTERNAL_SECRET: expect.stringMatching(/^\S{44}$/),
    });
  });
});

test("a removed internal-secret is created again, and no other secret changes", async () => {
  await up();
  const { INTERNAL_SECRET, ...others } = config();
  remove("internal-secret");
  await up();
  const { INTERNAL_SECRET: replaced, ...kept } = config();
  expect(replaced).not.toBe(INTERNAL_SECRET);
  expect(kept).toEqual(others);
});

test("a removed postgres-password is not replaced by one that PostgreSQL does not know", async () => {
  await up();
  remove("postgres-password");
  await expect(up()).rejects.toMatchObject({
    stderr: expect.stringContaining("postgres-password is missing"),
  });
  expect(existsSync(join(volume, "postgres-password"))).toBe(false);
});

test("commands after the first start need no key of the router: the volume keeps it until another is given", async () => {
  // Compose refuses every command, such as `restart`, without a variable that it requires.
  expect(readFileSync("docs/deploy/compose.yaml", "utf8")).not.toMatch(/\$\{\w+:?\?/);
  await expect(up("")).rejects.toMatchObject({
    stderr: expect.stringContaining("ROUTER_PRIVATE_KEY is not set"),
  });
  await up();
  await up("");
  expect(config()).toMatchObject({ ROUTER_PRIVATE_KEY: KEY });
  const other = `0x${"2".repeat(64)}`;
  await up(other);
  expect(config()).toMatchObject({ ROUTER_PRIVATE_KEY: other });
});

test("every documented command of Compose names the file, which is not in the root of the repository", () => {
  const text = readFileSync("docs/operations.md", "utf8");
  expect(text.match(/docker compose (?!-f docs\/deploy\/compose\.yaml )[^`]*/g) ?? []).toEqual([]);
});
