import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { BodyPool } from "../inference/body/body-pool.ts";
import type { Logger } from "../kernel/log.ts";
import type { Hex } from "../kernel/text/hex.ts";
import { ROUTER_WALLET } from "./chain/accounts.ts";
import { fundRouterWallet, registerProvider } from "./chain/actors.ts";
import { type Anvil, startAnvil } from "./chain/anvil.ts";
import {
  contractAddresses,
  type DevnetContracts,
  deployContracts,
  networkContracts,
} from "./chain/deploy.ts";
import type { AccountSource } from "./provider/bearer-check.ts";
import { DEVNET_OFFERS, type DevnetOffer } from "./provider/offers.ts";
import { type StandInProvider, startProvider } from "./provider/provider.ts";

const BLOCK_SECONDS = 15;

/** A development network. */
export type Devnet = {
  readonly rpcUrl: string;
  readonly contracts: DevnetContracts;
  /** By the names in a network's table. */
  readonly networkContracts: ReturnType<typeof networkContracts>;
  readonly routerKey: Hex;
  stop(): Promise<void>;
};

/** The constants of a development network that runs elsewhere: all of them are derived from the code. */
export function knownDevnet(): Pick<Devnet, "contracts" | "networkContracts" | "routerKey"> {
  const contracts = contractAddresses();
  return { contracts, networkContracts: networkContracts(contracts), routerKey: ROUTER_WALLET.privateKey };
}

/**
 * Starts the development network: a chain stored in `folder`, our contracts, a provider of each service type, and a
 * router's wallet with funded sub-accounts. It ends with `stop`, or with this process.
 */
export async function startDevnet({ folder, log }: { folder: string; log: Logger }): Promise<Devnet> {
  mkdirSync(folder, { recursive: true });
  const anvil = await startOnPreviousPort(folder, log);
  const providers: StandInProvider[] = [];
  // The providers run in the product's process, whose event loop a long prompt must not block.
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

/** Wallets and SDKs are configured with a port, so the chain reuses its previous one if that is free. */
async function startOnPreviousPort(folder: string, log: Logger): Promise<Anvil> {
  const options = { stateFile: join(folder, "anvil.json"), blockTimeSeconds: BLOCK_SECONDS, log };
  const portFile = join(folder, "port");
  const previous = readPort(portFile);
  const anvil = await startAnvil({ ...options, ...(previous && { port: previous }) }).catch(
    (error: unknown) => {
      if (!previous) throw error;
      log.warn({ err: error, port: previous }, "the development chain's port is taken; using another one");
      return startAnvil(options);
    },
  );
  writeFileSync(portFile, `${anvil.port}\n`);
  return anvil;
}

function readPort(file: string): number | undefined {
  if (!existsSync(file)) return undefined;
  const port = Number(readFileSync(file, "utf8").trim());
  return Number.isInteger(port) && port > 0 && port < 65_536 ? port : undefined;
}

/** Starts a stand-in provider, registers its offer and funds its sub-account from the router's wallet. */
async function offerService(
  offer: DevnetOffer,
  accounts: AccountSource,
  bodies: Pick<BodyPool, "countRequest">,
): Promise<StandInProvider> {
  const { account, model, serviceType, inputPrice, outputPrice, cachesPrompts = false, info } = offer;
  const { address, privateKey } = account;
  const provider = await startProvider({
    address,
    model,
    serviceType,
    cachesPrompts,
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
