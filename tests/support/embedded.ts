import { randomUUID } from "node:crypto";
import { mkdir, readFile, rename, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { PGlite } from "@electric-sql/pglite";
import type { Database } from "../../src/db/database.ts";
import { openDatabase } from "../../src/db/open.ts";
import { templateFolder } from "../../src/db/template.ts";

/**
 * PGlite takes about 2 s to make an empty cluster and 0.3 s to load a dumped one, so the first test to need one
 * leaves a dump for all later runs. Its name is the hash of what it is made from.
 */
export async function openEmbedded(): Promise<Database> {
  const file = `${templateFolder()}.tar`;
  const template = await readFile(file).catch(() => undefined);
  if (template) return openDatabase({ kind: "memory", loadDataDir: new Blob([template]) });
  const database = await openDatabase({ kind: "memory" });
  const connection = database.orm.em.getConnection() as { getNativeClient?(): Promise<unknown> };
  const native = await connection.getNativeClient?.();
  if (!(native instanceof PGlite)) throw new Error("the embedded database is not PGlite");
  const dump = await native.dumpDataDir("none");
  await mkdir(dirname(file), { recursive: true });
  const draft = `${file}.${randomUUID()}`;
  await writeFile(draft, Buffer.from(await dump.arrayBuffer()));
  await rename(draft, file);
  return database;
}
