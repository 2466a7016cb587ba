import { execFile } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);

/** A program that runs on this machine: its path or its name on PATH, and the folders of its own libraries. */
export type Program = { readonly bin: string; readonly libraries: string };

/** Where to look for a program. */
type Wanted = {
  /** Names on PATH, the preferred one first. */
  readonly names: readonly string[];
  /** The environment variable that may name the program. */
  readonly variable: string;
  /** The distribution's package that has it, and its path in there. */
  readonly debianPackage: string;
  readonly path: string;
  /** The folder of the private unpacking; `.cache/<package>` by default. */
  readonly cache?: string;
};

/**
 * The program that `variable` names, then one on PATH, then one from a private unpacking of the distribution's package
 * (no root, nothing installed). Each must answer `--version`. Throws with the reason when this machine has none of them.
 */
export async function findProgram({ names, variable, debianPackage, path, cache }: Wanted): Promise<Program> {
  const asked = process.env[variable];
  const known = [...(asked ? [asked] : []), ...names].map((bin) => ({ bin, libraries: "" }));
  for (const candidate of known) if (await runs(candidate)) return candidate;
  const root = await unpackDebianPackage(debianPackage, cache).catch((cause: unknown) => {
    throw new Error(`no ${names[0]} on PATH, nor from apt-get (or set ${variable}): ${String(cause)}`, {
      cause,
    });
  });
  const unpacked = { bin: join(root, path), libraries: librariesIn(root) };
  if (await runs(unpacked)) return unpacked;
  throw new Error(`the ${names[0]} from apt-get does not run`);
}

/** The environment in which a program finds its own libraries. */
export function environmentOf({ libraries }: Program): NodeJS.ProcessEnv {
  return { ...process.env, LD_LIBRARY_PATH: libraries };
}

/**
 * Downloads a package of the distribution with the libraries that this machine lacks, and unpacks them into a folder
 * once (no root, nothing installed). Resolves with the folder that stands for `/`.
 */
async function unpackDebianPackage(name: string, cache = resolve(".cache", name)): Promise<string> {
  const root = join(cache, "root");
  if (existsSync(root)) return root;
  // Two first runs in one checkout may unpack at once: each has a folder of its own, and the first is kept.
  const own = `${cache}-${process.pid}`;
  try {
    await unpack(name, own);
    if (!existsSync(cache)) renameSync(own, cache);
  } catch (cause) {
    if (!existsSync(root)) throw cause;
  } finally {
    rmSync(own, { recursive: true, force: true });
  }
  return root;
}

async function runs(program: Program): Promise<boolean> {
  try {
    await run(program.bin, ["--version"], { env: environmentOf(program) });
    return true;
  } catch {
    return false;
  }
}

function librariesIn(root: string): string {
  const lib = join(root, "usr/lib");
  const triplets = existsSync(lib) ? readdirSync(lib).filter((name) => name.includes("-linux-")) : [];
  return [lib, ...triplets.map((name) => join(lib, name))].join(":");
}

async function unpack(name: string, cache: string): Promise<void> {
  for (const folder of ["state/lists/partial", "archives/partial", "root"])
    mkdirSync(join(cache, folder), { recursive: true });
  // A status file without the package and its siblings: apt fetches it, with exactly the libraries this machine lacks.
  const status = "/var/lib/dpkg/status";
  const paragraphs = existsSync(status) ? readFileSync(status, "utf8").split("\n\n") : [];
  const [family] = name.split("-");
  const others = paragraphs.filter((text) => !text.startsWith(`Package: ${family}`));
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
  await apt("install", "--download-only", name);
  for (const file of readdirSync(join(cache, "archives")).filter((name) => name.endsWith(".deb")))
    await run("dpkg", ["-x", join(cache, "archives", file), join(cache, "root")]);
  for (const folder of ["state", "archives"]) rmSync(join(cache, folder), { recursive: true, force: true });
}
