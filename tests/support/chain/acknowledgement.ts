import { inferenceServingAbi } from "../../../src/chain/abi/inference-serving.ts";
import { DEPLOYER } from "../../../src/devnet/chain/accounts.ts";
import { connectDevnet, mined } from "../../../src/devnet/chain/chain-client.ts";
import { contractAddresses } from "../../../src/devnet/chain/deploy.ts";
import type { Hex } from "../../../src/kernel/text/hex.ts";
import type { Stack } from "../stack.ts";

type Acknowledgement = "acknowledgeTEESignerByOwner" | "revokeTEESignerAcknowledgement";

/** Runs `work` while the provider's signer is not acknowledged on chain, so that its offers serve no request. */
export async function whileUnacknowledged<T>(
  { app, rpcUrl }: Pick<Stack, "app" | "rpcUrl">,
  provider: Hex,
  work: () => Promise<T>,
): Promise<T> {
  const owner = await connectDevnet(rpcUrl, DEPLOYER.privateKey);
  const call = async (functionName: Acknowledgement) => {
    const contract = { address: contractAddresses().inference, abi: inferenceServingAbi } as const;
    await mined(owner, await owner.writeContract({ ...contract, functionName, args: [provider] }));
    await app.catalogue.refresh();
  };
  await call("revokeTEESignerAcknowledgement");
  try {
    return await work();
  } finally {
    await call("acknowledgeTEESignerByOwner");
  }
}
