import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startAnvil } from "../../src/devnet/chain/anvil.ts";
import type { OnEnd } from "../support/servers/database.ts";
import { startPostgres } from "../support/servers/postgres.ts";
import { builtFile } from "./build.ts";
import { type Child, startChild } from "./child.ts";
import type { GatewayName } from "./peers/graph/gateways.ts";
import { marketSubgraphs, marketSupergraph } from "./peers/graph/market.ts";

const READY = /ready at (\S+)/;

/** Starts a program of `peers/graph` in its own process. */
export function startPeer(
  name: string,
  env: Readonly<Record<string, string>>,
  isOurs = false,
): Promise<Child> {
  return startChild(builtFile(`peers/graph/${name}`), {
    ...{ ready: READY, isOurs },
    env: { NODE_ENV: "production", ...env },
  });
}

/**
 * Starts gateways, each in its own process, in front of the market's subgraphs in another. Ours has its database on a
 * server, as a gateway with separate subgraphs must.
 */
export async function openGateways(
  names: readonly GatewayName[],
  onEnd: OnEnd,
): Promise<ReadonlyMap<GatewayName, Child>> {
  const subgraphs = await startPeer("subgraphs", {});
  onEnd(async () => killChild(subgraphs));
  const urls = Object.fromEntries(marketSubgraphs().map(({ name }) => [name, `${subgraphs.origin}/${name}`]));
  const postgres = await startPostgres();
  onEnd(() => postgres.stop());
  const env = {
    SUBGRAPHS: JSON.stringify(urls),
    // Composing it here leaves its memory out of the gateways.
    SUPERGRAPH: marketSupergraph(urls),
    DATABASE_URL: postgres.url,
    ...(await openDevnet(onEnd)),
  };
  const gateways = new Map<GatewayName, Child>();
  for (const name of names) {
    const child = await startPeer("gateway", { ...env, GATEWAY: name }, name === "zerograph");
    onEnd(async () => killChild(child));
    gateways.set(name, child);
  }
  return gateways;
}

/** What our gateway needs besides subgraphs: a chain and a folder, as settings. */
export async function openDevnet(onEnd: OnEnd): Promise<{ RPC_URL: string; DATA_DIR: string }> {
  const anvil = await startAnvil();
  onEnd(() => anvil.stop());
  const folder = await mkdtemp(join(tmpdir(), "zerograph-bench-"));
  onEnd(() => rm(folder, { recursive: true, force: true }));
  return { RPC_URL: anvil.url, DATA_DIR: folder };
}

/** Some peers wait for idle connections when they are stopped. */
export function killChild({ process: child }: Child): void {
  child.kill("SIGKILL");
}
