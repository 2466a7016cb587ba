import { PROVIDER, ROUTER_WALLET } from "../../../src/devnet/chain/accounts.ts";
import { fundRouterWallet, registerProvider } from "../../../src/devnet/chain/actors.ts";
import { startAnvil } from "../../../src/devnet/chain/anvil.ts";
import { type DevnetContracts, deployContracts } from "../../../src/devnet/chain/deploy.ts";
import { type StandInProvider, startProvider } from "../../../src/devnet/provider/provider.ts";
import { countPromptTokens } from "../../../src/inference/billing/tokens.ts";
import type { OnEnd } from "../servers/database.ts";

export const MODEL = "test-chat";
export const INPUT_PRICE = 3n;
export const OUTPUT_PRICE = 5n;

/**
 * A chain with our contracts, and one provider on it that the router has funded. Both run in this process.
 */
export type TestNetwork = {
  readonly rpcUrl: string;
  readonly contracts: DevnetContracts;
  readonly provider: StandInProvider;
};

/** Starts the chain and the provider. */
export async function startNetwork(onEnd: OnEnd): Promise<TestNetwork> {
  const anvil = await startAnvil();
  onEnd(() => anvil.stop());
  const contracts = await deployContracts(anvil.url);
  const provider = await startProvider({
    address: PROVIDER.address,
    model: MODEL,
    countTokens: countPromptTokens,
    accounts: { rpcUrl: anvil.url, inference: contracts.inference },
    signerKey: PROVIDER.privateKey,
  });
  onEnd(() => provider.stop());
  await offerAndFund(anvil.url, { url: provider.url, model: MODEL });
  return { rpcUrl: anvil.url, contracts, provider };
}

/** Registers the provider that answers at `url`, and funds it from the router's wallet. */
export async function offerAndFund(rpcUrl: string, offer: { url: string; model: string }): Promise<void> {
  await registerProvider(rpcUrl, {
    ...offer,
    providerKey: PROVIDER.privateKey,
    inputPrice: INPUT_PRICE,
    outputPrice: OUTPUT_PRICE,
    serviceType: "chatbot",
    verifiability: "TeeML",
    additionalInfo: "{}",
    teeSigner: PROVIDER.address,
  });
  await fundRouterWallet(rpcUrl, { routerKey: ROUTER_WALLET.privateKey, provider: PROVIDER.address });
}
