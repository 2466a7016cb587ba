import type { ResultOf } from "gql.tada";
import { graphql } from "../../data/query/graph.ts";

export const OPERATIONS = graphql(`
  query OperationsPage {
    operations {
      grafanaUrl
      processes {
        processId host role version nodeVersion startedAt reportedAt silent eventLoopDelayP50Ms eventLoopDelayP99Ms
        residentBytes eventStreamCount subscriptionCount
        circuits { providerAddress modelId state openedAt pauseEndsAt failureKind failedAt }
      }
      queues {
        jobs { kind waitingCount runningCount oldestWaitingSeconds }
        unpublishedEventCount oldestUnpublishedSeconds newestEventPosition unmatchedEventCount
      }
      watchers { name phase scannedBlock headBlock lagBlocks lastReorgDepth note }
      webhooks {
        pendingCount failingCount disabledCount oldestWaitingSeconds
        faulty { webhookId accountAddress name host failureCount startedAt disabledReason }
      }
      ledgerCheck { endedAt durationMs full transferCount faultCount faults { fault subject } }
    }
  }
`);

export type Operations = NonNullable<ResultOf<typeof OPERATIONS>["operations"]>;
export type ServiceProcess = Operations["processes"][number];
export type ProcessCircuit = ServiceProcess["circuits"][number];
export type FaultyWebhook = Operations["webhooks"]["faulty"][number];
export type LedgerCheck = NonNullable<Operations["ledgerCheck"]>;

/** Which dialog of the page is open. */
export type OpenDialog =
  | { readonly kind: "close"; readonly providerAddress: string }
  | { readonly kind: "pause"; readonly providerAddress?: string }
  | { readonly kind: "enable"; readonly webhook: FaultyWebhook }
  | { readonly kind: "verify" }
  | { readonly kind: "release" };
