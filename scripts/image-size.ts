import { execFileSync } from "node:child_process";
import { cpSync, lstatSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { readCopy, readIgnored, readStages } from "./dockerfile.ts";

/**
 * `npm run image:size`: carries out the steps of docs/deploy/Dockerfile in a temporary folder, without Docker, and
 * prints the size of every part of the image. The size of the base image is the installed size of its Debian packages. Node itself is taken
 * from `node_modules`. With `-- --keep FOLDER` the result is left there.
 */
const BASE_MIB = 24;
const MAX_MIB = 350;
const MIB = 1_048_576;

const [flag, kept] = process.argv.slice(2);
const work = mkdtempSync(join(tmpdir(), "zerograph-image-"));
const root = flag === "--keep" && kept ? kept : join(work, "root");
try {
  const [built, image] = readStages();
  if (!built || !image) throw new Error("the Dockerfile has no two stages");
  const app = join(work, "app");
  const isIgnored = readIgnored();
  const tracked = execFileSync("git", ["ls-files", "-co", "--exclude-standard"], { encoding: "utf8" });
  for (const path of tracked.split("\n").filter((name) => name !== "" && !isIgnored(name)))
    copy(path, join(app, path));
  const roots: readonly (readonly [string, string])[] = [
    ["/app", app],
    ["/empty", join(work, "empty")],
    [
      "/usr/local/bin/node",
      execFileSync("sh", ["scripts/node", "-p", "process.execPath"], { encoding: "utf8" }).trim(),
    ],
  ];
  const placeOf = (path: string) => {
    const [prefix = "", place = ""] = roots.find(([folder]) => path.startsWith(folder)) ?? [];
    if (place === "") throw new Error(`${path} is not in the built stage`);
    return path.replace(prefix, place);
  };
  for (const { name, text } of built.steps) {
    if (name !== "RUN") continue;
    // Only root can give a folder to another user.
    const command = text
      .replaceAll("-o 65532 -g 65532 ", "")
      .replaceAll(" /empty/", ` ${join(work, "empty")}/`);
    execFileSync("sh", ["-ec", command], { cwd: app, stdio: ["ignore", "ignore", "inherit"] });
  }
  let sum = BASE_MIB * MIB;
  console.log(`${mib(sum)}  ${image.base} (its Debian packages, not measured)`);
  for (const { name, text } of image.steps) {
    if (name !== "COPY") continue;
    const { sources, target } = readCopy(text);
    for (const source of sources) {
      copy(placeOf(source), join(root, target));
      const size = sizeOf(placeOf(source));
      sum += size;
      console.log(`${mib(size)}  ${target}`);
    }
  }
  console.log(`${mib(sum)}  in total, of at most ${MAX_MIB} MiB`);
  if (sum > MAX_MIB * MIB) process.exitCode = 1;
} finally {
  rmSync(work, { recursive: true, force: true });
}

function copy(from: string, to: string): void {
  mkdirSync(dirname(to), { recursive: true });
  cpSync(from, to, { recursive: true, verbatimSymlinks: true });
}

/** Bytes on a disk with blocks of 4 KiB. */
function sizeOf(path: string): number {
  const status = lstatSync(path);
  if (!status.isDirectory()) return Math.ceil(status.size / 4_096) * 4_096;
  return 4_096 + readdirSync(path).reduce((sum, name) => sum + sizeOf(join(path, name)), 0);
}

function mib(bytes: number): string {
  return `${(bytes / MIB).toFixed(1).padStart(6)} MiB`;
}
