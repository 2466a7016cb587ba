import { hashRequest } from "../idempotency/canonical-body.ts";
import type { ReplayKey } from "../idempotency/replay-key.ts";
import type { CacheRequest } from "../inference/answer-cache/cache-request.ts";
import { headersText } from "./comparable-options.ts";

/** A request whose client accepts a stored answer. */
type CacheableRequest = {
  readonly method: string;
  readonly url: string;
  readonly account: string;
  readonly body: Buffer;
  /** The headers that the route reads. */
  readonly headers: unknown;
  readonly key: ReplayKey | undefined;
};

/**
 * The name of a request, under which its answer is stored: an HMAC of everything that the answer may depend on, under
 * the credential's secret. Undefined without a credential.
 */
export async function cacheRequestOf(
  maxAgeSeconds: number,
  { method, url, account, body, headers, key }: CacheableRequest,
): Promise<CacheRequest | undefined> {
  if (!key) return undefined;
  const bodyHash = await hashRequest({}, body, { isExact: true });
  const read = headers === undefined ? null : headersText(headers, []);
  const name = key.name(JSON.stringify(["cache", account, method, url, read, bodyHash]));
  return { name, maxAgeSeconds, key };
}
