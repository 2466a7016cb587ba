import { createHash } from "node:crypto";
import { constants, cpSync, existsSync, readdirSync, readFileSync, renameSync, rmSync } from "node:fs";
import { createRequire, findPackageJSON } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const MIGRATIONS = fileURLToPath(new URL("./migrations/", import.meta.url));

/**
 * Where `npm ci` leaves a copy of the embedded database as migrations make it, for every start in a new folder: it goes
 * with this version of PGlite and these migrations (the built ones are other files), and may not be there.
 */
export function templateFolder(migrations = MIGRATIONS): string {
  const entry = createRequire(import.meta.url).resolve("@electric-sql/pglite");
  const hash = createHash("sha256").update(readFileSync(new URL("../package.json", `file://${entry}`)));
  for (const name of readdirSync(migrations).sort()) hash.update(readFileSync(join(migrations, name)));
  const root = dirname(findPackageJSON(import.meta.url) ?? "");
  return join(root, ".cache/pglite", hash.digest("hex").slice(0, 16));
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

/** Keeps a database that is not open as the template of these migrations. */
export function keepTemplate(path: string, migrations?: string): void {
  copyWhole(path, templateFolder(migrations));
}

function copyWhole(from: string, to: string): void {
  const draft = `${to}.draft-${process.pid}`;
  rmSync(draft, { recursive: true, force: true });
  cpSync(from, draft, { recursive: true, mode: constants.COPYFILE_FICLONE });
  renameSync(draft, to);
}
