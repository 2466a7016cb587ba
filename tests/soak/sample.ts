import type { Queries } from "../../src/db/database.ts";
import { connectInspector, readLiveHeap, writeHeapSnapshot } from "../bench/inspector.ts";
import { folderBytes } from "./folder-size.ts";
import { countDescriptors, listProcesses, treeOf } from "./processes.ts";
import type { Member, SoakedSet } from "./sets.ts";
import type { Traffic } from "./traffic.ts";

/** What a process of the product uses. `children` are the programs that it started. */
type ProcessSample = {
  readonly residentBytes: number;
  readonly childrenBytes: number;
  readonly heapBytes: number;
  readonly handles: number;
  readonly descriptors: number;
  /** The 99th percentile of the event-loop delay since the last sample. */
  readonly delayMs: number;
};

/** The state of a set at one moment. */
export type Sample = {
  readonly minute: number;
  readonly actions: number;
  readonly billed: number;
  readonly uploadedBytes: number;
  /** Of one core, since the last sample: the product and its database. */
  readonly share: number;
  readonly processes: Readonly<Record<string, ProcessSample>>;
  readonly redisBytes: number | undefined;
  readonly dataBytes: number;
  readonly walBytes: number;
  readonly storedBytes: number;
  readonly tables: Readonly<Record<string, number>>;
  readonly outbox: number;
  readonly unpublished: number;
  readonly holds: number;
  readonly allotments: number;
  readonly jobs: number;
};

type Counts = Pick<Sample, "outbox" | "unpublished" | "holds" | "allotments" | "jobs">;

/** Processor time of a set's processes so far, milliseconds. */
export function cpuMsOf({ members }: SoakedSet): number {
  const all = listProcesses();
  return members.flatMap(({ pid }) => treeOf(all, pid)).reduce((sum, { cpuMs }) => sum + cpuMs, 0);
}

/**
 * The heap that each process of the product uses after a garbage collection, bytes. With a prefix of file names, writes
 * a snapshot of each heap too.
 */
export async function readLiveHeaps(
  { members }: SoakedSet,
  snapshots?: string,
): Promise<Readonly<Record<string, number>>> {
  const heaps: Record<string, number> = {};
  for (const { name, inspector } of members) {
    if (inspector === undefined) continue;
    const engine = await connectInspector(inspector);
    heaps[name] = await readLiveHeap(engine);
    if (snapshots !== undefined)
      await writeHeapSnapshot(engine, `${snapshots}-${name.replace(" ", "-")}.heapsnapshot`);
    engine.close();
  }
  return heaps;
}

/** Reads everything that is recorded of a set. */
export async function takeSample(
  set: SoakedSet,
  traffic: Traffic | undefined,
  { minute, share }: Pick<Sample, "minute" | "share">,
): Promise<Sample> {
  const { members, queries, folders } = set;
  const processes: Record<string, ProcessSample> = {};
  for (const member of members) if (member.metrics) processes[member.name] = await sampleProcess(member);
  const redis = members.find(({ name }) => name === "Redis");
  const [counts] = await queries.rows<Counts>(COUNTS);
  if (!counts) throw new Error("a select without a table has one row");
  return {
    ...{ minute, share, processes },
    actions: [...(traffic?.done.values() ?? [])].reduce((sum, count) => sum + count, 0),
    billed: traffic?.record.billed ?? 0,
    uploadedBytes: traffic?.record.uploadedBytes ?? 0,
    redisBytes: redis && treeOf(listProcesses(), redis.pid)[0]?.residentBytes,
    dataBytes: await folderBytes(folders.data, ["pg_wal"]),
    walBytes: await folderBytes(folders.wal),
    storedBytes: await folderBytes(folders.stored),
    tables: await readTables(queries),
    ...counts,
  };
}

async function sampleProcess({ pid, metrics }: Member): Promise<ProcessSample> {
  const text = await (await fetch(metrics ?? "")).text();
  const gauge = (name: string) => Number(new RegExp(`^${name} (\\S+)`, "m").exec(text)?.[1]);
  const [own, ...children] = treeOf(listProcesses(), pid);
  return {
    residentBytes: own?.residentBytes ?? 0,
    childrenBytes: children.reduce((sum, { residentBytes }) => sum + residentBytes, 0),
    heapBytes: gauge("nodejs_heap_size_used_bytes"),
    handles: gauge("nodejs_active_handles_total"),
    descriptors: countDescriptors(pid),
    delayMs: gauge("nodejs_eventloop_lag_p99_seconds") * 1_000,
  };
}

async function readTables(queries: Queries): Promise<Readonly<Record<string, number>>> {
  const rows = await queries.rows<{ name: string; bytes: string }>(TABLES);
  return Object.fromEntries(rows.map(({ name, bytes }) => [name, Number(bytes)]));
}

const COUNTS = `
  select (select count(*) from outbox)::int as outbox,
    (select count(*) from outbox where position is null)::int as unpublished,
    (select count(*) from hold where state = 'open')::int as holds,
    (select count(*) from allotment)::int as allotments,
    (select count(*) from job where state in ('pending', 'processing'))::int as jobs`;

const TABLES = `
  select c.relname::text as name, pg_total_relation_size(c.oid)::text as bytes from pg_class c
  where c.relkind = 'r' and c.relnamespace = current_schema()::regnamespace order by 1`;
