import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createPublicClient, http } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { CredentialsService } from "../../src/chain/direct/credentials.service.ts";
import { type DatabaseConfig, openDatabase } from "../../src/db/open.ts";
import { PROVIDER, ROUTER_WALLET } from "../../src/devnet/chain/accounts.ts";
import { startAnvil } from "../../src/devnet/chain/anvil.ts";
import { contractAddresses, deployContracts } from "../../src/devnet/chain/deploy.ts";
import type { ProviderBehaviour } from "../../src/devnet/provider/provider.ts";
import { systemClock } from "../../src/kernel/clock.ts";
import { lowerHex } from "../../src/kernel/text/hex.ts";
import { installPeers } from "../peers/install.ts";
import { offerAndFund } from "../support/chain/network.ts";
import { type Seeded, seedAccount } from "../support/seed.ts";
import type { OnEnd } from "../support/servers/database.ts";
import { builtFile, PRODUCT } from "./build.ts";
import { type Child, startChild } from "./child.ts";
import { startDurablePostgres } from "./durable-postgres.ts";
import type { Target } from "./load.ts";
import { PORTKEY } from "./peers/portkey.ts";

/** The model that is requested from all targets. */
export const MODEL = "bench-chat";
/** The path of a chat at every target but the provider itself. */
const CHAT = "/v1/chat/completions";
const FORTUNE_NEURON = 10n ** 30n;
const MANY = 64;
const READY = /ready at (http\S+)/;
const BANNER = /OpenAI clients +(http\S+)\/v1/;

/** A chain with our contracts, and one funded stand-in provider on it, in its own process. */
export type Market = {
  readonly rpcUrl: string;
  readonly direct: Target;
  /** Sets how the provider answers from now on. */
  behave(behaviour: ProviderBehaviour): void;
};

/** Starts the chain and the provider. */
export async function openMarket(onEnd: OnEnd): Promise<Market> {
  const anvil = await startAnvil();
  onEnd(() => anvil.stop());
  await deployContracts(anvil.url);
  const provider = await startChild(builtFile("stand-in"), {
    ready: READY,
    env: { RPC_URL: anvil.url, MODEL },
  });
  onEnd(() => provider.stop());
  await offerAndFund(anvil.url, { url: provider.origin, model: MODEL });
  const bearer = await new CredentialsService({
    client: createPublicClient({ transport: http(anvil.url) }),
    registry: contractAddresses().inference,
    wallet: privateKeyToAccount(ROUTER_WALLET.privateKey),
    clock: systemClock,
  }).secretFor(lowerHex(PROVIDER.address));
  return {
    rpcUrl: anvil.url,
    direct: {
      name: "direct",
      origin: provider.origin,
      path: "/v1/proxy/chat/completions",
      bearers: [bearer],
    },
    behave: (behaviour) => void provider.process.send(behaviour),
  };
}

/** Starts a bare proxy, which needs no key of its callers. */
export async function openPeer(name: string, { direct }: Market, onEnd: OnEnd): Promise<Target> {
  const [bearer = ""] = direct.bearers;
  const child = await startChild(builtFile(`peers/${name}`), {
    ready: READY,
    env: { PROVIDER_URL: direct.origin, BEARER: bearer },
  });
  onEnd(() => child.stop());
  return { name, origin: child.origin, path: CHAT, bearers: ["none"] };
}

/** Starts Portkey's gateway; each request names its provider. Undefined when npm cannot install it. */
export async function openPortkey({ direct }: Market, onEnd: OnEnd): Promise<Target | undefined> {
  if (!(await installPeers(PORTKEY))) return undefined;
  const child = await startChild("tests/bench/peers/portkey.ts", { ready: READY, env: {} });
  onEnd(() => child.stop());
  const headers = {
    "x-portkey-provider": "openai",
    "x-portkey-custom-host": `${direct.origin}/v1/proxy`,
  };
  return { name: "portkey", origin: child.origin, path: CHAT, bearers: direct.bearers, headers };
}

/** Our running product: with one account of ample balance, and with many of them. */
export type Product = {
  readonly one: Target;
  readonly many: Target;
  readonly process: Child;
  /** The server's address, where it is on one. */
  readonly postgresUrl: string | undefined;
};

/** Starts the compiled product on a seeded database of `kind`. */
export async function openProduct(
  kind: "server" | "embedded",
  { rpcUrl }: Market,
  onEnd: OnEnd,
  nodeFlags: readonly string[] = [],
): Promise<Product> {
  const folder = await mkdtemp(join(tmpdir(), "zerograph-bench-"));
  onEnd(() => rm(folder, { recursive: true, force: true }));
  const postgres = kind === "server" ? await startDurablePostgres() : undefined;
  if (postgres) onEnd(() => postgres.stop());
  const seeded = await seed(
    postgres ? { kind: "server", url: postgres.url, poolSize: 4 } : { kind: "folder", path: folder },
  );
  const child = await startChild(PRODUCT, {
    ready: BANNER,
    nodeFlags,
    env: {
      NETWORK: "devnet",
      PORT: "0",
      LOG_LEVEL: "warn",
      DATA_DIR: folder,
      RPC_URL: rpcUrl,
      ...(postgres && { DATABASE_URL: postgres.url }),
    },
  });
  onEnd(() => child.stop());
  const name = kind === "server" ? "zerograph" : "zerograph, PGlite";
  const at = { origin: child.origin, path: CHAT };
  const bearers = seeded.map(({ secret }) => secret);
  return {
    one: { name, ...at, bearers: bearers.slice(0, 1) },
    many: { name: `${name}, ${MANY} accounts`, ...at, bearers },
    process: child,
    postgresUrl: postgres?.url,
  };
}

async function seed(config: DatabaseConfig): Promise<readonly Seeded[]> {
  const database = await openDatabase(config);
  try {
    const seeded: Seeded[] = [];
    for (let n = 0; n < MANY; n++) seeded.push(await seedAccount(database, FORTUNE_NEURON));
    return seeded;
  } finally {
    await database.close();
  }
}
