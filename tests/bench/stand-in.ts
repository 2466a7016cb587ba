import { PROVIDER } from "../../src/devnet/chain/accounts.ts";
import { contractAddresses } from "../../src/devnet/chain/deploy.ts";
import { type ProviderBehaviour, startProvider } from "../../src/devnet/provider/provider.ts";
import { countPromptTokens } from "../../src/inference/billing/tokens.ts";

/** The stand-in provider as its own process. Its behaviour is set over IPC. */
const provider = await startProvider({
  address: PROVIDER.address,
  model: process.env.MODEL ?? "",
  countTokens: countPromptTokens,
  accounts: { rpcUrl: process.env.RPC_URL ?? "", inference: contractAddresses().inference },
});
process.on("message", (behaviour: ProviderBehaviour) => {
  provider.behaviour = behaviour;
});
console.log(`ready at ${provider.url}`);
