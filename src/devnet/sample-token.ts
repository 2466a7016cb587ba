import { encodeFunctionData, keccak256, toHex } from "viem";
import { agentNftAbi } from "../chain/abi/agent-nft.ts";
import { toProofArguments } from "../chain/agents/contracts/transfer-proof.ts";
import type { Hex } from "../kernel/text/hex.ts";
import { DEMO_USER, TOKEN_RECEIVER } from "./chain/accounts.ts";
import { proveTransfer } from "./chain/agent-proofs.ts";
import { type Call, connectDevnet, revertName, sendAll } from "./chain/chain-client.ts";
import { contractAddresses } from "./chain/deploy.ts";

const GAS = 2_000_000n;
const SAMPLE = 0n;
const DATA = ["System prompt of a travel agent", "Memory of its conversations"].map((dataDescription) => ({
  dataDescription,
  dataHash: keccak256(toHex(dataDescription)),
}));

/**
 * Mints the first agent token of a development network to the demo account, and gives it a history: it is transferred
 * to another account and back with its keys, cloned, and the other account is authorised to use it. The same on each
 * new chain. Sends nothing where a first token exists.
 */
export async function createSampleToken(rpcUrl: string): Promise<void> {
  const [owner, other] = [DEMO_USER, TOKEN_RECEIVER];
  const client = await connectDevnet(rpcUrl, owner.privateKey);
  const token = { address: contractAddresses().agentNft, abi: agentNftAbi } as const;
  const isMinted = await client.readContract({ ...token, functionName: "ownerOf", args: [SAMPLE] }).then(
    () => true,
    (error: unknown) => {
      if (revertName(error) === "ERC721NonexistentToken") return false;
      throw error;
    },
  );
  if (isMinted) return;
  const mint = encodeFunctionData({ abi: agentNftAbi, functionName: "mint", args: [DATA, owner.address] });
  await sendAll(client, [callOf(mint), await move("iTransferFrom", owner.address, other.address)]);
  const back = await move("iTransferFrom", other.address, owner.address);
  await sendAll(await connectDevnet(rpcUrl, other.privateKey), [back]);
  const authorize = encodeFunctionData({
    abi: agentNftAbi,
    functionName: "authorizeUsage",
    args: [SAMPLE, other.address],
  });
  await sendAll(client, [await move("iCloneFrom", owner.address, other.address), callOf(authorize)]);
}

/** A transfer or a clone of the sample with its keys. */
async function move(functionName: "iTransferFrom" | "iCloneFrom", from: Hex, to: Hex): Promise<Call> {
  const seed = `sample ${functionName} ${to}`;
  const proofs = await proveTransfer(
    to,
    DATA.map(({ dataHash }) => dataHash),
    { seed },
  );
  const args = [from, to, SAMPLE, toProofArguments(proofs)] as const;
  return callOf(encodeFunctionData({ abi: agentNftAbi, functionName, args }));
}

function callOf(data: Hex): Call {
  return { to: contractAddresses().agentNft, data, gas: GAS };
}
