import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { BodyPool } from "../inference/body-pool.ts";
import type { Hex } from "../kernel/hex.ts";
import type { Logger } from "../kernel/log.ts";
import { ROUTER_WALLET } from "./accounts.ts";
import { fundRouterWallet, registerProvider } from "./actors.ts";
import { startAnvil } from "./anvil.ts";
import type { AccountSource } from "./bearer-check.ts";
import { contractAddresses, type DevnetContracts, deployContracts, networkContracts } from "./deploy.ts";
import { DEVNET_OFFERS, type DevnetOffer } from "./offers.ts";
import { type StandInProvider, startProvider } from "./provider.ts";

const BLOCK_SECONDS = 15;

/** What a machine without the network needs of it. */
export type Devnet = {
  readonly rpcUrl: string;
  readonly contracts: DevnetContracts;
  /** By the names of a network's table. */
  readonly networkContracts: ReturnType<typeof networkContracts>;
  readonly routerKey: Hex;
  stop(): Promise<void>;
};

/** What a process on a development network that runs elsewhere has to know: it all follows from the code. */
export function knownDevnet(): Pick<Devnet, "contracts" | "networkContracts" | "routerKey"> {
  const contracts = contractAddresses();
  return { contracts, networkContracts: networkContracts(contracts), routerKey: ROUTER_WALLET.privateKey };
}

/**
 * Starts the development network: a chain kept in `folder`, our contracts, a provider of each service type, and a
 * router's wallet that has paid them. It ends with `stop`, or with this process.
 */
export async function startDevnet({ folder, log }: { folder: string; log: Logger }): Promise<Devnet> {
  mkdirSync(folder, { recursive: true });
  const anvil = await startAnvil({
    stateFile: join(folder, "anvil.json"),
    blockTimeSeconds: BLOCK_SECONDS,
    log,
  });
  const providers: StandInProvider[] = [];
  // They live in the process of the product, whose event loop a long prompt must not hold up.
  const bodies = new BodyPool({ log });
  const stop = async () => {
    await Promise.all(providers.map((provider) => provider.stop()));
    await Promise.all([anvil.stop(), bodies.close()]);
  };
  try {
    const contracts = await deployContracts(anvil.url);
    const accounts = { rpcUrl: anvil.url, inference: contracts.inference };
    for (const offer of DEVNET_OFFERS) providers.push(await offerService(offer, accounts, bodies));
    return {
      rpcUrl: anvil.url,
      contracts,
      networkContracts: networkContracts(contracts),
      routerKey: ROUTER_WALLET.privateKey,
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** Starts a stand-in provider, puts its offer into the registry and pays it from the router's wallet. */
async function offerService(
  offer: DevnetOffer,
  accounts: AccountSource,
  bodies: Pick<BodyPool, "countRequest">,
): Promise<StandInProvider> {
  const { account, model, serviceType, inputPrice, outputPrice, info } = offer;
  const { address, privateKey } = account;
  const provider = await startProvider({
    address,
    model,
    serviceType,
    countTokens: (messages) => bodies.countRequest(Buffer.from(JSON.stringify({ messages }))),
    accounts,
    signerKey: privateKey,
  });
  try {
    await registerProvider(accounts.rpcUrl, {
      providerKey: privateKey,
      url: provider.url,
      model,
      inputPrice,
      outputPrice,
      serviceType,
      verifiability: "TeeML",
      additionalInfo: JSON.stringify(info),
      teeSigner: address,
    });
    await fundRouterWallet(accounts.rpcUrl, { routerKey: ROUTER_WALLET.privateKey, provider: address });
    return provider;
  } catch (error) {
    await provider.stop();
    throw error;
  }
}
