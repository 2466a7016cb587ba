import type { ReplayKey } from "../../idempotency/replay-key.ts";
import type { ProviderAnswer } from "../providers/exchange/provider-answer.ts";

/** The longest time that an answer is stored. */
export const MAX_CACHE_SECONDS = 86_400;
/** The longest answer that is stored. */
export const MAX_CACHED_BYTES = 4 * 1_048_576;

/** A client's wish for a stored answer to an equal request, and to have this answer stored. */
export type CacheRequest = {
  /** Equal for equal requests of one credential, and derived with its secret. */
  readonly name: string;
  /** The greatest age of an answer, and how long this one is stored. */
  readonly maxAgeSeconds: number;
  /** Encrypts what is stored; it belongs to the credential. */
  readonly key: ReplayKey;
};

/** An amount of neuron that was charged for a request. */
export type ChargedCost = { readonly input: bigint; readonly output: bigint };

/** A provider's answer that was stored, and the request that it answered. */
export type CachedAnswer = {
  readonly requestId: string;
  readonly provider: string;
  readonly model: string;
  /** The format in which the provider answered, where that is not the same for all providers. */
  readonly form?: string | undefined;
  readonly cost: ChargedCost;
  /** The bytes as the provider sent them: each reader builds the client's answer from them. */
  readonly answer: Pick<ProviderAnswer, "contentType" | "body">;
};

/** What came of a cache request: `hit` names the request whose answer is returned. */
export type CacheUse =
  | { readonly status: "hit"; readonly requestId: string; readonly ageSeconds: number }
  | { readonly status: "miss" | "bypass" };
