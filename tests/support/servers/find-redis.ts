import { execFile } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);

/** A redis-server that runs on this machine, and the folder of its libraries. */
export type RedisServer = { readonly bin: string; readonly libraries: string };

/**
 * REDIS_SERVER, then PATH, then a private unpacking of the distribution's package (no root, nothing
 * installed). Throws with the reason when this machine has none of them.
 */
export async function findRedis(cache = resolve(".cache/redis")): Promise<RedisServer> {
  const asked = process.env.REDIS_SERVER;
  const names = [...(asked ? [asked] : []), "redis-server", "valkey-server"];
  const candidates = [...names.map((bin) => ({ bin, libraries: "" })), unpacked(cache)];
  for (const candidate of candidates) if (await runs(candidate)) return candidate;
  // Two first runs in one checkout may unpack at once: each has a folder of its own, and the first is kept.
  const own = `${cache}-${process.pid}`;
  try {
    await unpack(own);
    if (!existsSync(cache)) renameSync(own, cache);
  } catch (cause) {
    if (!existsSync(cache))
      throw new Error(`no redis-server on PATH, nor from apt-get (or set REDIS_SERVER): ${String(cause)}`, {
        cause,
      });
  } finally {
    rmSync(own, { recursive: true, force: true });
  }
  const fetched = unpacked(cache);
  if (await runs(fetched)) return fetched;
  throw new Error("the redis-server from apt-get does not run");
}

async function runs({ bin, libraries }: RedisServer): Promise<boolean> {
  try {
    await run(bin, ["--version"], { env: { ...process.env, LD_LIBRARY_PATH: libraries } });
    return true;
  } catch {
    return false;
  }
}

function unpacked(cache: string): RedisServer {
  const lib = join(cache, "root/usr/lib");
  const triplets = existsSync(lib) ? readdirSync(lib).filter((name) => name.includes("-linux-")) : [];
  const libraries = [lib, ...triplets.map((name) => join(lib, name))].join(":");
  return { bin: join(cache, "root/usr/bin/redis-server"), libraries };
}

async function unpack(cache: string): Promise<void> {
  for (const folder of ["state/lists/partial", "archives/partial", "root"])
    mkdirSync(join(cache, folder), { recursive: true });
  // A status file without redis: apt then fetches it, with exactly the libraries this machine lacks.
  const status = "/var/lib/dpkg/status";
  const paragraphs = existsSync(status) ? readFileSync(status, "utf8").split("\n\n") : [];
  const others = paragraphs.filter((text) => !/^Package: redis/.test(text));
  writeFileSync(join(cache, "status"), others.join("\n\n"));
  const options = [
    `Dir::State=${cache}/state`,
    `Dir::State::lists=${cache}/state/lists`,
    `Dir::State::status=${cache}/status`,
    `Dir::Cache=${cache}`,
    "Debug::NoLocking=1",
    "APT::Sandbox::User=",
    "APT::Install-Recommends=false",
    "Acquire::http::Timeout=20",
  ].flatMap((option) => ["-o", option]);
  const apt = (...words: string[]) =>
    run("apt-get", [...options, "-qq", "-y", ...words], { timeout: 120_000 });
  await apt("update");
  await apt("install", "--download-only", "redis-server");
  for (const file of readdirSync(join(cache, "archives")).filter((name) => name.endsWith(".deb")))
    await run("dpkg", ["-x", join(cache, "archives", file), join(cache, "root")]);
}
