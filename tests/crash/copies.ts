import { rmSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Queries } from "../../src/db/database.ts";
import { readEnvelope } from "../support/envelope.ts";
import type { OnEnd } from "../support/servers/database.ts";
import { newFolder } from "../support/servers/process.ts";
import { findChatFaults, findStoredFaults, readRequests } from "./audit.ts";
import { type DiskRecord, startDiskLoad, type UploadedFile } from "./disk-load.ts";
import { randomOf } from "./points.ts";
import { copyFrozen, copyRunning, mixPages } from "./snapshots.ts";
import { type CrashWorld, recovered, startWatched } from "./world.ts";

type CopyRequest = {
  readonly pid: number;
  readonly queries: Queries;
  readonly from: string;
  readonly to: string;
  readonly random: () => number;
};

/** How the data folder is copied while the product writes to it. */
export const COPY_FORMS = {
  /** What `kill -9` leaves, and a snapshot of the file system. */
  "one instant": ({ pid, from, to }: CopyRequest) => copyFrozen(pid, from, to),
  "file by file": ({ from, to }: CopyRequest) => copyRunning(from, to),
  "power failure": (request: CopyRequest) => failPower(request),
  /** PostgreSQL then relies on data pages that PGlite has not flushed. */
  "power failure after a checkpoint": (request: CopyRequest) =>
    failPower(request, () => request.queries.rows("checkpoint")),
} as const;

export type CopyForm = keyof typeof COPY_FORMS;

/** What a copy has of what was acknowledged before it was begun. */
export type JudgedCopy = {
  readonly faults: readonly string[];
  readonly chats: number;
  readonly segments: number;
};

const DATABASE = "postgres";
const STORED = "storage";
const MAX_UNFLUSHED_MS = 1_000;
/** Load before a copy. */
const MAX_LOAD_MS = 500;

/** The files of PGlite are never flushed; stored files are, so those are of the later instant. */
async function failPower(
  { pid, from, to, random }: CopyRequest,
  meanwhile: () => Promise<unknown> = async () => {},
): Promise<void> {
  const [before, after] = [`${to}-before`, `${to}-after`];
  await copyFrozen(pid, from, before);
  await sleep(random() * MAX_UNFLUSHED_MS);
  await meanwhile();
  await copyFrozen(pid, from, after);
  const database = { before: join(before, DATABASE), after: join(after, DATABASE), to: join(to, DATABASE) };
  await mixPages(database, random);
  await copyRunning(join(after, STORED), join(to, STORED));
  for (const path of [before, after]) rmSync(path, { recursive: true });
}

/** Makes copies of a running product's folder under load, and starts the product on each. */
export async function judgeCopies(
  world: CrashWorld,
  given: {
    readonly form: CopyForm;
    readonly copies: number;
    readonly rpcUrl: string;
    readonly onEnd: OnEnd;
  },
): Promise<readonly JudgedCopy[]> {
  const { form, copies, rpcUrl, onEnd } = given;
  const judged: JudgedCopy[] = [];
  const record: DiskRecord = { chats: [], files: [] };
  for (let seed = 0; seed < copies; seed++) {
    const random = randomOf(seed);
    const load = await startDiskLoad(world, rpcUrl, record, { name: form, seed });
    await load.underWay;
    await sleep(random() * MAX_LOAD_MS);
    const to = join(newFolder(onEnd), "copy");
    const beganMs = performance.now();
    const { queries } = world;
    const request = { pid: world.product().pid, queries, from: world.settings.DATA_DIR ?? "", to, random };
    await COPY_FORMS[form](request);
    await load.stop();
    judged.push(await judge(world, acknowledgedBefore(record, beganMs), to));
    rmSync(to, { recursive: true });
  }
  return judged;
}

function acknowledgedBefore({ chats, files }: DiskRecord, beganMs: number): DiskRecord {
  return {
    chats: chats.filter(({ answeredMs = Number.POSITIVE_INFINITY }) => answeredMs < beganMs),
    files: files.map(({ file, acknowledgedMs }) => ({
      file,
      acknowledgedMs: acknowledgedMs.filter((ms) => ms < beganMs),
    })),
  };
}

/** Starts the product on a copy, and compares what it has with what was acknowledged. */
async function judge(
  { settings }: CrashWorld,
  { chats, files }: DiskRecord,
  copy: string,
): Promise<JudgedCopy> {
  const ends: (() => Promise<void>)[] = [];
  const faults: string[] = [];
  try {
    const watched = await startWatched({ ...settings, DATA_DIR: copy }, (end) => void ends.unshift(end));
    await recovered(watched);
    const { product, queries } = watched;
    faults.push(...(await findStoredFaults(queries)));
    faults.push(...findChatFaults(chats, await readRequests(queries)));
    for (const file of files) faults.push(...(await findFileFaults(product.origin, file)));
  } catch (error) {
    faults.push(`the product does not work on the copy: ${error}`);
  }
  for (const end of ends) await end();
  const segments = files.reduce((sum, { acknowledgedMs }) => sum + acknowledgedMs.length, 0);
  return { faults, chats: chats.length, segments };
}

async function findFileFaults(
  origin: string,
  { file, acknowledgedMs }: UploadedFile,
): Promise<readonly string[]> {
  if (acknowledgedMs.length === 0) return [];
  if (acknowledgedMs.length < file.segments.length) {
    const info = await readEnvelope(`${origin}/file/info/${file.root}`);
    const stored = Number(info.data?.uploadedSegNum ?? 0);
    return stored < acknowledgedMs.length
      ? [`${stored} of ${acknowledgedMs.length} segments: ${file.root}`]
      : [];
  }
  const reply = await fetch(`${origin}/file?root=${file.root}`);
  const bytes = Buffer.from(await reply.arrayBuffer());
  return bytes.equals(file.content) ? [] : [`${reply.status}: a stored file is lost: ${file.root}`];
}
