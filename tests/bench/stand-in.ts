import { PROVIDER } from "../../src/devnet/accounts.ts";
import { contractAddresses } from "../../src/devnet/deploy.ts";
import { type ProviderBehaviour, startProvider } from "../../src/devnet/provider.ts";
import { countPromptTokens } from "../../src/inference/tokens.ts";

/** The stand-in provider as a process of its own. How it behaves is set over IPC. */
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
