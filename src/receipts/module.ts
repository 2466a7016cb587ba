import type { AppContext, Lifecycle } from "../app-context.ts";
import type { ProviderSignature } from "./format/proof-bundle.ts";
import type { ReceiptKey } from "./receipt-key.ts";
import { ReceiptsService } from "./receipts.service.ts";
import { ReturnedHashes } from "./returned-hashes.ts";
import { ReceiptSequencer } from "./sequencer.runner.ts";

/** Receipts and their background work. */
export type ReceiptModule = Lifecycle & { readonly receipts: ReceiptsService };

type Dependencies = {
  readonly key: ReceiptKey;
  readonly signatureOf: (account: string, requestId: string) => Promise<ProviderSignature | undefined>;
};

/** The least time between two signed heads, seconds, where no setting says otherwise. */
const CHECKPOINT_SECONDS = 60;
const DEVNET_CHECKPOINT_SECONDS = 1;

/** Creates the services of receipts. */
export function createReceiptModule(
  { config, network, clock, database, log }: AppContext,
  { key, signatureOf }: Dependencies,
): ReceiptModule {
  const usual = network.id === "devnet" ? DEVNET_CHECKPOINT_SECONDS : CHECKPOINT_SECONDS;
  const checkpointSeconds = config.RECEIPT_CHECKPOINT_SECONDS ?? usual;
  const returned = new ReturnedHashes(database, log);
  const sequencer = new ReceiptSequencer({ database, clock, key, log, checkpointSeconds });
  return {
    receipts: new ReceiptsService({
      ...{ queries: database, key, returned, signatureOf },
      retryAfterSeconds: checkpointSeconds + 1,
    }),
    startWork: () => sequencer.start(),
    async stop() {
      await sequencer.stop();
      await returned.stop();
    },
  };
}
