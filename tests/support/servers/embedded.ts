import { randomUUID } from "node:crypto";
import { mkdir, readFile, rename, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import type { Database } from "../../../src/db/database.ts";
import { EmbeddedPostgres } from "../../../src/db/embedded/postgres.ts";
import { templateFolder } from "../../../src/db/embedded/template.ts";
import { openDatabase } from "../../../src/db/open.ts";

/** An embedded database with all tables, in memory and in the calling thread. */
export async function openEmbedded(): Promise<Database> {
  const session = await EmbeddedPostgres.open({
    dataDir: "memory://",
    loadDataDir: await embeddedTemplate(),
  });
  return openDatabase({ kind: "memory", session });
}

/**
 * A dump of an empty database with all tables. PGlite takes about 2 s to create a cluster and 0.3 s to load
 * one, so the first test that needs it saves it for all later runs. Its name is the hash of its sources.
 */
export async function embeddedTemplate(): Promise<Blob> {
  const file = `${templateFolder()}.tar`;
  const template = await readFile(file).catch(() => undefined);
  if (template) return new Blob([template]);
  const session = await EmbeddedPostgres.open({ dataDir: "memory://" });
  const database = await openDatabase({ kind: "memory", session });
  const dump = await session.dump();
  await database.close();
  await mkdir(dirname(file), { recursive: true });
  const draft = `${file}.${randomUUID()}`;
  await writeFile(draft, Buffer.from(await dump.arrayBuffer()));
  await rename(draft, file);
  return dump;
}
