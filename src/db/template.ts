import { createHash } from "node:crypto";
import { constants, cpSync, existsSync, readdirSync, readFileSync, renameSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";

/** Where `npm ci` leaves a copy of the embedded database as migrations make it, for every start in a new folder. */
const TEMPLATES = new URL("../../.cache/pglite/", import.meta.url);
const MIGRATIONS = new URL("./migrations/", import.meta.url);

/** The folder of the copy that goes with this version of PGlite and these migrations, whether or not it is there. */
export function templateFolder(): string {
  const entry = createRequire(import.meta.url).resolve("@electric-sql/pglite");
  const hash = createHash("sha256").update(readFileSync(new URL("../package.json", `file://${entry}`)));
  for (const name of readdirSync(MIGRATIONS).sort()) hash.update(readFileSync(new URL(name, MIGRATIONS)));
  return fileURLToPath(new URL(hash.digest("hex").slice(0, 16), TEMPLATES));
}

/**
 * Puts a copy of the template where there is no database yet, if there is a template: PGlite takes 5 s of a processor
 * to make a cluster by itself. A copy that was broken off is begun again, and never taken for a database.
 */
export function copyTemplate(path: string): void {
  if (existsSync(path)) return;
  const template = templateFolder();
  if (existsSync(template)) copyWhole(template, path);
}

/** Keeps a database that nobody has open as the template. */
export function keepTemplate(path: string): void {
  copyWhole(path, templateFolder());
}

function copyWhole(from: string, to: string): void {
  const draft = `${to}.draft-${process.pid}`;
  rmSync(draft, { recursive: true, force: true });
  cpSync(from, draft, { recursive: true, mode: constants.COPYFILE_FICLONE });
  renameSync(draft, to);
}
