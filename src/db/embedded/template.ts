import { createHash } from "node:crypto";
import { constants, cpSync, existsSync, readdirSync, readFileSync, renameSync, rmSync } from "node:fs";
import { createRequire, findPackageJSON } from "node:module";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const MIGRATIONS = fileURLToPath(new URL("../migrations/", import.meta.url));

/**
 * Where `npm ci` stores a migrated copy of the embedded database, for every start in a new folder. The path depends on
 * the version of PGlite and on the migrations, whose sources `npm run build` copies, and may not exist.
 */
export function templateFolder(): string {
  const entry = createRequire(import.meta.url).resolve("@electric-sql/pglite");
  const hash = createHash("sha256").update(readFileSync(new URL("../package.json", `file://${entry}`)));
  for (const name of readdirSync(MIGRATIONS).sort()) hash.update(readFileSync(join(MIGRATIONS, name)));
  const root = dirname(findPackageJSON(import.meta.url) ?? "");
  return join(root, ".cache/pglite", hash.digest("hex").slice(0, 16));
}

/**
 * Copies the template, if there is one, to a path without a database: PGlite needs 5 s of CPU time to create a cluster
 * itself. An interrupted copy is removed, and is never mistaken for a database. The caller has locked the folder.
 */
export function copyTemplate(path: string): void {
  for (const name of readdirSync(dirname(path)))
    if (name.startsWith(`${basename(path)}${DRAFT}`))
      rmSync(join(dirname(path), name), { recursive: true, force: true });
  if (existsSync(path)) return;
  const template = templateFolder();
  if (existsSync(template)) copyWhole(template, path);
}

/** Stores a closed database as the template. */
export function keepTemplate(path: string): void {
  copyWhole(path, templateFolder());
}

/** The name of a copy that is being made ends with this and the id of its process. */
const DRAFT = ".draft-";

function copyWhole(from: string, to: string): void {
  const draft = `${to}${DRAFT}${process.pid}`;
  rmSync(draft, { recursive: true, force: true });
  cpSync(from, draft, { recursive: true, mode: constants.COPYFILE_FICLONE });
  renameSync(draft, to);
}
