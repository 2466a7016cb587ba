import { createTestClient, type Hash, type PublicActions, type TransactionReceipt } from "viem";
import { patientTransport } from "./patient-transport.ts";

const MINED_AT_ONCE_MS = 60_000;

/**
 * Waits for the block of a transaction that `client` sent to the anvil at `rpcUrl`. Rarely anvil keeps a transaction
 * that arrives right after a reorg without mining it; another block has it. Replaced transactions are not looked for:
 * meanwhile viem ignores a new block, and no other follows.
 */
export function receiptOf(
  client: Pick<PublicActions, "waitForTransactionReceipt">,
  { hash, rpcUrl }: { readonly hash: Hash; readonly rpcUrl: string },
): Promise<TransactionReceipt> {
  const wait = { hash, checkReplacement: false };
  return client.waitForTransactionReceipt({ ...wait, timeout: MINED_AT_ONCE_MS }).catch(async () => {
    await createTestClient({ mode: "anvil", transport: patientTransport(rpcUrl) }).mine({ blocks: 1 });
    return client.waitForTransactionReceipt(wait);
  });
}
