import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createClient } from "redis";
import { until } from "../until.ts";
import type { OnEnd } from "./database.ts";
import { environmentOf } from "./debian-package.ts";
import { findRedis } from "./find-redis.ts";
import { freePort } from "./postgres.ts";

/** A server of a group. */
export type GroupMember = {
  readonly port: number;
  /** Ends it as kill -9 does. */
  kill(): Promise<void>;
  command(...words: readonly string[]): Promise<unknown>;
};

/** Starts a master, its replica, and three sentinels that watch it as `mymaster`. */
export async function startSentinels(onEnd: OnEnd) {
  const master = await startMember(onEnd, ["save ''"]);
  const replica = await startMember(onEnd, ["save ''", `replicaof 127.0.0.1 ${master.port}`]);
  await until(async () => String(await master.command("INFO", "replication")).includes("state=online"));
  const watch = [
    `sentinel monitor mymaster 127.0.0.1 ${master.port} 2`,
    "sentinel down-after-milliseconds mymaster 1000",
    "sentinel failover-timeout mymaster 5000",
  ];
  const sentinels = await Promise.all([1, 2, 3].map(() => startMember(onEnd, watch, ["--sentinel"])));
  const known = async (sentinel: GroupMember) =>
    String(await sentinel.command("INFO", "sentinel")).includes("slaves=1,sentinels=3");
  await until(async () => (await Promise.all(sentinels.map(known))).every(Boolean));
  const hosts = sentinels.map(({ port }) => `127.0.0.1:${port}`);
  return { master, replica, url: `redis+sentinel://${hosts}/mymaster` };
}

/** Starts a cluster of three masters with a third of the slots each; the master of `key` has a replica. */
export async function startCluster(onEnd: OnEnd, key: string) {
  const settings = [
    "save ''",
    "cluster-enabled yes",
    "cluster-node-timeout 1000",
    "cluster-require-full-coverage no",
  ];
  const nodes = await Promise.all([1, 2, 3, 4].map(() => startMember(onEnd, settings)));
  const [first, second, third, replica] = nodes as [GroupMember, GroupMember, GroupMember, GroupMember];
  const masters = [first, second, third];
  const bounds = [0, 5_461, 10_923, 16_384];
  for (const [at, master] of masters.entries())
    await master.command("CLUSTER", "ADDSLOTSRANGE", `${bounds[at]}`, `${(bounds[at + 1] ?? 0) - 1}`);
  for (const node of nodes.slice(1)) await first.command("CLUSTER", "MEET", "127.0.0.1", `${node.port}`);
  const isWhole = async (node: GroupMember) => {
    const info = String(await node.command("CLUSTER", "INFO"));
    return info.includes("cluster_state:ok") && info.includes("cluster_known_nodes:4");
  };
  await until(async () => (await Promise.all(nodes.map(isWhole))).every(Boolean));
  const slot = Number(await first.command("CLUSTER", "KEYSLOT", key));
  const owner = masters[bounds.findIndex((bound) => bound > slot) - 1] ?? first;
  const id = String(await owner.command("CLUSTER", "MYID"));
  await until(() => replica.command("CLUSTER", "REPLICATE", id));
  await until(async () => String(await owner.command("INFO", "replication")).includes("state=online"));
  const others = masters.filter((master) => master !== owner);
  return { owner, others, url: `redis+cluster://${nodes.map(({ port }) => `127.0.0.1:${port}`)}` };
}

/** Starts a server that accepts only TLS. */
export async function startTlsRedis(
  onEnd: OnEnd,
  { cert, key }: { cert: string; key: string },
): Promise<number> {
  const tls = [`tls-cert-file ${cert}`, `tls-key-file ${key}`, "tls-auth-clients no", "save ''"];
  const { port } = await startMember(onEnd, tls, [], true);
  return port;
}

const MAX_STARTS = 10;

/** A server may end at once: another process has its port by now, or the one of its cluster bus, 10,000 above. */
async function startMember(
  onEnd: OnEnd,
  settings: readonly string[],
  flags: readonly string[] = [],
  isEncrypted = false,
): Promise<GroupMember> {
  for (let start = 0; start < MAX_STARTS; start++) {
    const member = await tryMember(onEnd, settings, flags, isEncrypted);
    if (member) return member;
  }
  throw new Error("a Redis server ends at each start");
}

/** Undefined if the server ended. */
async function tryMember(
  onEnd: OnEnd,
  settings: readonly string[],
  flags: readonly string[],
  isEncrypted: boolean,
): Promise<GroupMember | undefined> {
  const program = await findRedis();
  const home = mkdtempSync(join(tmpdir(), "redis-"));
  const port = await freePort();
  const listen = isEncrypted ? ["port 0", `tls-port ${port}`] : [`port ${port}`];
  const file = join(home, "redis.conf");
  writeFileSync(file, [...listen, "bind 127.0.0.1", `dir ${home}`, ...settings, ""].join("\n"));
  const env = environmentOf(program);
  const server = spawn(program.bin, [file, ...flags], { cwd: home, stdio: "ignore", env });
  const hasEnded = () => server.exitCode !== null || server.signalCode !== null;
  const kill = async () => {
    if (hasEnded()) return;
    const gone = new Promise((resolve) => server.once("exit", resolve));
    server.kill("SIGKILL");
    await gone;
  };
  onEnd(async () => {
    await kill();
    rmSync(home, { recursive: true, force: true });
  });
  const command = async (...words: readonly string[]) => {
    const tls = isEncrypted && { tls: true as const, rejectUnauthorized: false };
    const client = createClient({ socket: { host: "127.0.0.1", port, reconnectStrategy: false, ...tls } });
    client.on("error", () => {});
    await client.connect();
    return client.sendCommand([...words]).finally(() => client.destroy());
  };
  await until(async () => hasEnded() || command("PING"));
  return hasEnded() ? undefined : { port, kill, command };
}
