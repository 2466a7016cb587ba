import { randomBytes } from "node:crypto";
import { createReadStream, mkdirSync } from "node:fs";
import { mkdtemp, open, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { MemData } from "@0gfoundation/0g-ts-sdk";
import { openDatabase } from "../../../src/db/open.ts";
import { startAnvil } from "../../../src/devnet/chain/anvil.ts";
import { deployContracts } from "../../../src/devnet/chain/deploy.ts";
import { HashPool } from "../../../src/storage/keccak/hash-pool.ts";
import { Keccak } from "../../../src/storage/keccak/keccak.ts";
import { hashFile } from "../../../src/storage/merkle/file-tree.ts";
import { SEGMENT_BYTES } from "../../../src/storage/merkle/shape.ts";
import type { OnEnd } from "../../support/servers/database.ts";
import { newFile, openDisk, submitAll, upload } from "../../support/storage/stored-files.ts";
import { PRODUCT } from "../build.ts";
import { startChild } from "../child.ts";
import { startNginx } from "../nginx.ts";
import { downloadAll } from "../raw-client.ts";

/** The amount of data and the number of measurements; figures are medians. */
export type StoragePace = {
  readonly rounds: number;
  readonly largeBytes: number;
  readonly smallFiles: number;
  /** The official SDK is so slow that less is hashed with it. */
  readonly sdkBytes: number;
};

const MB = 1e6;
const SMALL_BYTES = 1_024;
const BANNER = /OpenAI clients +(http\S+)\/v1/;
const CONNECTIONS = 16;
/** Files written at once before the measurement. */
const LANES = 64;

/** Hashing against the official SDK and against bare Keccak; downloads against nginx with the same bytes. Markdown. */
export async function benchStorage(pace: StoragePace, onEnd: OnEnd): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "zerograph-storage-bench-"));
  onEnd(() => rm(folder, { recursive: true, force: true }));
  return `${await benchHashing(pace, folder)}\n${await benchDownloads(pace, folder, onEnd)}`;
}

async function benchHashing({ rounds, largeBytes, sdkBytes }: StoragePace, folder: string): Promise<string> {
  const keccak = new Keccak();
  const path = join(folder, "large");
  await writeLarge(path, largeBytes);
  const pools = [1, 2].map((threads) => new HashPool({ keccak, threads }));
  const ofFile = async (hasher: HashPool | Keccak) => {
    await hashFile(createReadStream(path, { highWaterMark: 2 ** 20 }), { keccak, hasher });
    return largeBytes;
  };
  const segment = randomBytes(SEGMENT_BYTES);
  const memory = randomBytes(sdkBytes);
  const ways: readonly [string, () => Promise<number>][] = [
    [
      "bare Keccak of the chunks, in memory",
      async () => {
        const turns = Math.ceil(largeBytes / SEGMENT_BYTES);
        for (let turn = 0; turn < turns; turn++) keccak.leaves(segment);
        return turns * SEGMENT_BYTES;
      },
    ],
    ["root of a file, no thread", () => ofFile(keccak)],
    ...pools.map((pool, index): [string, () => Promise<number>] => [
      `root of a file, ${index + 1} thread${index > 0 ? "s" : ""}`,
      () => ofFile(pool),
    ]),
    [
      "root by @0gfoundation/0g-ts-sdk, in memory",
      async () => {
        const [, error] = await new MemData(memory).merkleTree();
        if (error !== null) throw error;
        return sdkBytes;
      },
    ],
  ];
  const figures: [string, number][] = [];
  for (const [name, work] of ways) {
    const rates: number[] = [];
    for (let round = 0; round < rounds; round++) {
      const startedMs = performance.now();
      const bytes = await work();
      rates.push(bytes / MB / ((performance.now() - startedMs) / 1_000));
    }
    figures.push([name, median(rates)]);
  }
  await Promise.all(pools.map((pool) => pool.close()));
  const sdk = figures.at(-1)?.[1] ?? Number.NaN;
  const bare = figures[0]?.[1] ?? Number.NaN;
  const lines = figures.map(
    ([name, rate]) =>
      `| ${name} | ${rate.toFixed(0)} | ${(rate / bare).toFixed(2)} | ${(rate / sdk).toFixed(1)} |`,
  );
  return [
    "",
    `**merkle root of ${largeBytes / 2 ** 20} MiB**`,
    "",
    "| | MB/s | x bare | x SDK |",
    "|---|---:|---:|---:|",
    ...lines,
  ].join("\n");
}

type Server = { readonly name: string; readonly origin: string; pathOf(root: string): string };

async function benchDownloads(pace: StoragePace, folder: string, onEnd: OnEnd): Promise<string> {
  const anvil = await startAnvil();
  onEnd(() => anvil.stop());
  await deployContracts(anvil.url);
  const plain = join(folder, "plain");
  mkdirSync(plain);
  const data = join(folder, "data");
  const { large, small } = await fill(pace, { plain, data });
  const nginx = await startNginx(plain, onEnd);
  const product = async (verify: "on" | "off") => {
    const child = await startChild(PRODUCT, {
      ready: BANNER,
      env: {
        ...{ NETWORK: "devnet", PORT: "0", LOG_LEVEL: "warn", DATA_DIR: data, RPC_URL: anvil.url },
        ...{ STORAGE_VERIFY: verify, RATE_LIMIT_PER_ADDRESS: "0" },
      },
    });
    onEnd(() => child.stop());
    return child;
  };
  const rows = new Map<string, { large: number; small: number }>();
  const measure = async ({ name, origin, pathOf }: Server) => {
    const paths = small.map(pathOf);
    await downloadAll(origin, paths.slice(0, 1_000), CONNECTIONS);
    const [largeRates, smallRates]: [number[], number[]] = [[], []];
    for (let round = 0; round < pace.rounds; round++) {
      const one = await downloadAll(origin, [pathOf(large)], 1);
      largeRates.push(one.bytes / MB / one.seconds);
      const many = await downloadAll(origin, paths, CONNECTIONS);
      smallRates.push(many.files / many.seconds);
    }
    rows.set(name, { large: median(largeRates), small: median(smallRates) });
  };
  if (nginx) await measure({ name: "nginx", origin: nginx, pathOf: (root) => `/${root}` });
  for (const verify of ["on", "off"] as const) {
    const child = await product(verify);
    const name = verify === "on" ? "zerograph, every byte verified" : "zerograph, the disk trusted";
    await measure({ name, origin: child.origin, pathOf: (root) => `/file?root=${root}` });
    await child.stop();
  }
  const base = rows.get("nginx");
  const ratio = (rate: number, of: number | undefined) => (of ? (rate / of).toFixed(2) : "-");
  return [
    "",
    `**downloads: ${pace.largeBytes / 2 ** 20} MiB on 1 connection; ${pace.smallFiles} files of ${SMALL_BYTES} bytes, each once, on ${CONNECTIONS}**${base ? "" : " (no nginx on this machine)"}`,
    "",
    "| | MB/s | x nginx | files/s | x nginx |",
    "|---|---:|---:|---:|---:|",
    ...[...rows].map(
      ([name, { large: rate, small: files }]) =>
        `| ${name} | ${rate.toFixed(0)} | ${ratio(rate, base?.large)} | ${files.toFixed(0)} | ${ratio(files, base?.small)} |`,
    ),
  ].join("\n");
}

/** Copies the same files into a node's folder and beside it, for nginx. Returns their roots. */
async function fill(
  { largeBytes, smallFiles }: StoragePace,
  { plain, data }: { readonly plain: string; readonly data: string },
): Promise<{ readonly large: string; readonly small: readonly string[] }> {
  const database = await openDatabase({ kind: "folder", path: data });
  const ends: (() => Promise<void>)[] = [];
  const node = openDisk(database, { folder: join(data, "storage"), onEnd: (end) => void ends.push(end) });
  try {
    const files = [newFile(largeBytes), ...Array.from({ length: smallFiles }, () => newFile(SMALL_BYTES))];
    await submitAll(
      database,
      node,
      files.map((file) => ({ file })),
    );
    const waiting = files.values();
    const lane = async () => {
      for (const file of waiting) {
        await upload(node, file, 16);
        await writeFile(join(plain, file.root), file.bytes);
      }
    };
    await Promise.all(Array.from({ length: LANES }, lane));
    const [large = "", ...small] = files.map(({ root }) => root);
    return { large, small };
  } finally {
    for (const end of ends) await end();
    await database.close();
  }
}

async function writeLarge(path: string, bytes: number): Promise<void> {
  const file = await open(path, "w");
  const part = randomBytes(2 ** 20);
  for (let at = 0; at < bytes; at += part.length) await file.write(part);
  await file.close();
}

function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}
