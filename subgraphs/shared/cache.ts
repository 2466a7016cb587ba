import { hashRequest } from "../../src/idempotency/canonical-body.ts";
import { type CacheRequest, MAX_CACHE_SECONDS } from "../../src/inference/answer-cache/cache-request.ts";
import { AppError } from "../../src/kernel/errors.ts";
import type { Context } from "./context.ts";

/** The description of every `cacheSeconds` argument. */
export const CACHE_SECONDS =
  "Accepts a stored response to an identical call by the same key if it is at most this many seconds old, and stores this response for as long. At most 86,400.";

/** A mutation that accepts a stored response: `field` is its name, `input` what its response depends on. */
type CacheableMutation = {
  readonly account: string;
  readonly field: string;
  readonly input: object;
  readonly cacheSeconds: number | null | undefined;
};

/** The cache request of a mutation, as of REST's `X-0G-Cache`; undefined without one. Throws `invalid_body`. */
export async function cacheRequestOf(
  { replayKey }: Pick<Context, "replayKey">,
  { account, field, input, cacheSeconds: maxAgeSeconds }: CacheableMutation,
): Promise<CacheRequest | undefined> {
  if (maxAgeSeconds == null) return undefined;
  if (maxAgeSeconds < 1 || maxAgeSeconds > MAX_CACHE_SECONDS)
    throw new AppError("invalid_body", `cacheSeconds: must be from 1 to ${MAX_CACHE_SECONDS}`, {
      param: "cacheSeconds",
    });
  const key = replayKey();
  if (!key) return undefined;
  const hash = await hashRequest({}, Buffer.from(JSON.stringify(input)), { isExact: true });
  const name = key.name(JSON.stringify(["cache", account, "graph", field, hash]));
  return { name, maxAgeSeconds, key };
}
