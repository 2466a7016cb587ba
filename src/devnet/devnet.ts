import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { countPromptTokens } from "../inference/tokens.ts";
import type { Hex } from "../kernel/hex.ts";
import type { Logger } from "../kernel/log.ts";
import { PROVIDER, ROUTER_WALLET } from "./accounts.ts";
import { fundRouterWallet, registerProvider } from "./actors.ts";
import { startAnvil } from "./anvil.ts";
import { contractAddresses, type DevnetContracts, deployContracts } from "./deploy.ts";
import { startProvider } from "./provider.ts";

/** The model that the stand-in provider offers, and its prices in neuron per token. */
export const DEVNET_MODEL = "devnet-chat";
const INPUT_PRICE = 2_000_000_000_000n;
const OUTPUT_PRICE = 5_000_000_000_000n;
const BLOCK_SECONDS = 15;

/** What a machine without the network needs of it. */
export type Devnet = {
  readonly rpcUrl: string;
  readonly contracts: DevnetContracts;
  readonly routerKey: Hex;
  stop(): Promise<void>;
};

/** What a process on a development network that runs elsewhere has to know: it all follows from the code. */
export function knownDevnet(): Pick<Devnet, "contracts" | "routerKey"> {
  return { contracts: contractAddresses(), routerKey: ROUTER_WALLET.privateKey };
}

/**
 * Starts the development network: a chain kept in `folder`, our contracts, one provider, and a router's wallet that
 * has paid it. It ends with `stop`, or with this process.
 */
export async function startDevnet({ folder, log }: { folder: string; log: Logger }): Promise<Devnet> {
  mkdirSync(folder, { recursive: true });
  const anvil = await startAnvil({
    stateFile: join(folder, "anvil.json"),
    blockTimeSeconds: BLOCK_SECONDS,
    log,
  });
  try {
    const contracts = await deployContracts(anvil.url);
    const provider = await startProvider({
      address: PROVIDER.address,
      model: DEVNET_MODEL,
      countTokens: countPromptTokens,
      accounts: { rpcUrl: anvil.url, inference: contracts.inference },
    });
    await registerProvider(anvil.url, {
      providerKey: PROVIDER.privateKey,
      url: provider.url,
      model: DEVNET_MODEL,
      inputPrice: INPUT_PRICE,
      outputPrice: OUTPUT_PRICE,
      serviceType: "chatbot",
      verifiability: "TeeML",
      additionalInfo: "{}",
      teeSigner: PROVIDER.address,
    });
    await fundRouterWallet(anvil.url, { routerKey: ROUTER_WALLET.privateKey, provider: PROVIDER.address });
    return {
      rpcUrl: anvil.url,
      contracts,
      routerKey: ROUTER_WALLET.privateKey,
      async stop() {
        await provider.stop();
        await anvil.stop();
      },
    };
  } catch (error) {
    await anvil.stop();
    throw error;
  }
}
