import type { FastifyInstance } from "fastify";
import { afterAll, beforeAll } from "vitest";
import { openGraph } from "../../gateway/graph.ts";
import { createServer } from "../../gateway/server.ts";
import { type App, createApp } from "../../src/app.ts";
import { NETWORKS, withAddresses } from "../../src/chain/networks.ts";
import { readConfig } from "../../src/config.ts";
import { PROVIDER, ROUTER_WALLET } from "../../src/devnet/accounts.ts";
import { fundRouterWallet, registerProvider } from "../../src/devnet/actors.ts";
import { startAnvil } from "../../src/devnet/anvil.ts";
import { deployContracts } from "../../src/devnet/deploy.ts";
import { type StandInProvider, startProvider } from "../../src/devnet/provider.ts";
import { countPromptTokens } from "../../src/inference/tokens.ts";
import { createLogger } from "../../src/kernel/log.ts";
import { type DatabaseKind, openTestDatabase } from "./database.ts";

/** The whole product in one process, on a chain and with a provider of its own, listening on a free port. */
export type Stack = {
  readonly app: App;
  readonly server: FastifyInstance;
  readonly origin: string;
  readonly rpcUrl: string;
  readonly provider: StandInProvider;
};

export const MODEL = "test-chat";
export const INPUT_PRICE = 3n;
export const OUTPUT_PRICE = 5n;

/** Starts one stack for the tests of a file and ends it after them. Read it inside the tests. */
export function useStack(kind: DatabaseKind, settings: Readonly<Record<string, string>> = {}): () => Stack {
  let stack: Stack | undefined;
  const ends: (() => Promise<unknown>)[] = [];
  const onEnd = (end: () => Promise<unknown>) => void ends.unshift(end);
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
  onEnd: (end: () => Promise<unknown>) => void,
): Promise<Stack> {
  const anvil = await startAnvil();
  onEnd(() => anvil.stop());
  const contracts = await deployContracts(anvil.url);
  const accounts = { rpcUrl: anvil.url, inference: contracts.inference };
  const provider = await startProvider({
    address: PROVIDER.address,
    model: MODEL,
    countTokens: countPromptTokens,
    accounts,
  });
  onEnd(() => provider.stop());
  await registerProvider(anvil.url, {
    providerKey: PROVIDER.privateKey,
    url: provider.url,
    model: MODEL,
    inputPrice: INPUT_PRICE,
    outputPrice: OUTPUT_PRICE,
    serviceType: "chatbot",
    verifiability: "TeeML",
    additionalInfo: "{}",
    teeSigner: PROVIDER.address,
  });
  await fundRouterWallet(anvil.url, { routerKey: ROUTER_WALLET.privateKey, provider: PROVIDER.address });
  const config = readConfig({
    NETWORK: "devnet",
    ROUTER_PRIVATE_KEY: ROUTER_WALLET.privateKey,
    LOG_LEVEL: "error",
    ...settings,
  });
  const network = withAddresses(NETWORKS.devnet, {
    rpcUrls: [anvil.url],
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
  return { app, server, origin: server.listeningOrigin, rpcUrl: anvil.url, provider };
}
