import type { ReceiptDraft } from "../../receipts/draft.ts";
import type { Provider } from "../providers/provider.ts";
import type { Admitted } from "./admitted.ts";

/** What a request over GraphQL has in place of the path of a request. */
const GRAPHQL = "/graphql";

/**
 * The draft of a request's receipt: the hashes of its bytes, as far as there are any. Of several attempts, the last.
 * `last` are the bytes with which the client's answer will end, if they are known.
 */
export async function draftOf(
  { client, hasher }: Admitted,
  provider: Provider,
  last: Buffer | undefined,
): Promise<ReceiptDraft> {
  const provided = await hasher?.digests();
  return {
    endpoint: client?.endpoint ?? GRAPHQL,
    modelAnswered: provider.model,
    received: await client?.received,
    forwarded: provided?.request,
    answered: provided?.response,
    returned: last && (await client?.expect(last)),
    awaitsReturned: client !== undefined,
  };
}
