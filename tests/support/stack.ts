import type { FastifyInstance } from "fastify";
import { afterAll, beforeAll } from "vitest";
import { openGraph } from "../../gateway/graph.ts";
import { createServer } from "../../gateway/server.ts";
import { type App, createApp } from "../../src/app.ts";
import { NETWORKS, withAddresses } from "../../src/chain/networks.ts";
import { readConfig } from "../../src/config.ts";
import { ROUTER_WALLET } from "../../src/devnet/accounts.ts";
import type { StandInProvider } from "../../src/devnet/provider.ts";
import { createLogger } from "../../src/kernel/log.ts";
import { type DatabaseKind, type OnEnd, openTestDatabase } from "./database.ts";
import { startNetwork } from "./network.ts";

/** The whole product in one process, on a chain and with a provider of its own, listening on a free port. */
export type Stack = {
  readonly app: App;
  readonly server: FastifyInstance;
  readonly origin: string;
  readonly rpcUrl: string;
  readonly provider: StandInProvider;
};

/** Starts one stack for the tests of a file and ends it after them. Read it inside the tests. */
export function useStack(kind: DatabaseKind, settings: Readonly<Record<string, string>> = {}): () => Stack {
  let stack: Stack | undefined;
  const ends: (() => Promise<void>)[] = [];
  const onEnd = (end: () => Promise<void>) => void ends.unshift(end);
  beforeAll(async () => {
    stack = await startStack(kind, settings, onEnd);
  });
  afterAll(async () => {
    for (const end of ends) await end();
  });
  return () => {
    if (!stack) throw new Error("the stack is started before the tests");
    return stack;
  };
}

async function startStack(
  kind: DatabaseKind,
  settings: Readonly<Record<string, string>>,
  onEnd: OnEnd,
): Promise<Stack> {
  const { rpcUrl, contracts, provider } = await startNetwork(onEnd);
  const config = readConfig({
    NETWORK: "devnet",
    ROUTER_PRIVATE_KEY: ROUTER_WALLET.privateKey,
    LOG_LEVEL: "error",
    ...settings,
  });
  const network = withAddresses(NETWORKS.devnet, {
    rpcUrls: [rpcUrl],
    contracts: {
      routerVault: contracts.vault,
      computeLedger: contracts.ledger,
      computeInference: contracts.inference,
      flow: contracts.flow,
    },
  });
  const app = await createApp(config, network, createLogger(config.LOG_LEVEL), () =>
    openTestDatabase(kind, { onEnd: () => {} }),
  );
  onEnd(() => app.close());
  await app.start({ worker: true });
  const graph = await openGraph({ kind: "local", app }, app);
  onEnd(() => graph.close());
  const server = await createServer(app, graph);
  onEnd(() => server.close());
  await server.listen({ host: "127.0.0.1", port: 0 });
  return { app, server, origin: server.listeningOrigin, rpcUrl, provider };
}
