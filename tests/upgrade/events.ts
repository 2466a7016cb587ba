import { type Following, followEvents } from "../support/clients/graph-client.ts";
import { until } from "../support/until.ts";
import type { Target } from "./calls.ts";
import type { Filled } from "./questions.ts";

/** A subscription, who may read it, and how many events the release published at least. */
type Subscription = {
  readonly field: string;
  readonly args?: string;
  readonly fields: string;
  readonly secret?: string;
  readonly count: number;
};

function subscriptionsOf({ account, chain, storage }: Filled): readonly Subscription[] {
  const { admin } = account.managementKeys;
  const { plain } = account.apiKeys;
  const stream = storage.stream.streamId;
  return [
    { field: "balanceChanged", fields: "cause balance { total }", secret: admin, count: 20 },
    { field: "depositChanged", fields: "deposit { depositId amount status }", secret: admin, count: 4 },
    { field: "keyChanged", fields: "change", secret: admin, count: 8 },
    { field: "imageJobChanged", fields: "jobId sequence step status", secret: plain, count: 10 },
    { field: "publishedSealedKey", args: `to: "${chain.receiver}"`, fields: "sealedKey { id }", count: 2 },
    { field: "tokenTransferred", fields: "removed token { tokenId }", count: 6 },
    { field: "orderFulfilled", fields: "removed price", count: 1 },
    { field: "kvChanged", args: `streamId: "${stream}"`, fields: "txSeq removed", count: 2 },
    { field: "fileProgress", args: `root: "${storage.partial.root}"`, fields: "status", count: 3 },
  ];
}

/**
 * Follows every stream of events after the cursor that the release gave before it was filled, until all of its
 * events were replayed. Throws if one of them is an error.
 */
export async function replayAll({ origin }: Target, filled: Filled): Promise<void> {
  for (const { field, args = "", fields, secret, count } of subscriptionsOf(filled)) {
    const text = `subscription { ${field}(${args} after: "${filled.eventCursor}") { cursor ${fields} } }`;
    const following = await followEvents(origin, secret, text);
    try {
      await until(() => {
        if (following.results.length >= count || hasError(following)) return true;
        throw new Error(`${field}: ${following.results.length} of ${count} events`);
      });
      if (hasError(following)) throw new Error(`${text}: ${JSON.stringify(following.results)}`);
    } finally {
      await following.stop();
    }
  }
}

function hasError({ results }: Following): boolean {
  return results.some(({ errors }) => errors !== undefined);
}
