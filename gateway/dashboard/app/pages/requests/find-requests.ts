import { graphql, reader } from "../../data/query/graph.ts";
import type { Found } from "../../shell/routes/page.ts";

const REQUESTS = graphql(`
  query FindRequests($prefix: String!) {
    viewer {
      account {
        requests(first: 5, filter: { requestIdPrefix: $prefix }) { nodes { requestId modelId status } }
      }
    }
  }
`);
/** Ids are ours, or sent by a client as `X-Request-ID`. */
const PREFIX = /^[A-Za-z0-9._:-]{4,64}$/;

/** The newest requests whose id begins with a text. */
export async function findRequests(text: string): Promise<readonly Found[]> {
  if (!PREFIX.test(text)) return [];
  const { data } = await reader.query(REQUESTS, { prefix: text }).toPromise();
  return (data?.viewer?.account?.requests?.nodes ?? []).map(({ requestId, modelId, status }) => ({
    id: requestId,
    name: requestId,
    detail: `${modelId}, ${status.toLowerCase()}`,
    to: `/requests/${encodeURIComponent(requestId)}`,
  }));
}
