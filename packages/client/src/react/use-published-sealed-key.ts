import { useMemo } from "react";
import type { Client } from "../core/client.ts";
import { PublishedSealedKeyDocument, type PublishedSealedKeySubscription } from "../operations/graphql.ts";
import { type Live, useLive } from "./use-live.ts";

/** Keys that were sealed for a receiver in one transfer. */
export type SealedKey = NonNullable<PublishedSealedKeySubscription["publishedSealedKey"]["sealedKey"]>;

/** The sealed keys that were published. */
export type UsePublishedSealedKey = Pick<Live<unknown>, "state" | "error"> & {
  /** In the order of publication; those that a reorg reverted are gone. */
  readonly keys: readonly SealedKey[];
  readonly latest: SealedKey | undefined;
};

/** Which keys to follow: all, or those of a receiver, a contract or a token. */
export type SealedKeyFilter = { readonly to?: string; readonly contract?: string; readonly tokenId?: string };

const MAX_KEYS = 1_000;

/** Follows sealed keys as they are published: after a cursor if one is given, else from now on. */
export function usePublishedSealedKey(
  filter: SealedKeyFilter = {},
  options: { readonly after?: string | null; readonly client?: Client } = {},
): UsePublishedSealedKey {
  const { events, state, error } = useLive(PublishedSealedKeyDocument, filter, {
    ...options,
    keep: MAX_KEYS,
  });
  return useMemo(() => {
    const byId = new Map<string, SealedKey>();
    for (const { publishedSealedKey } of events) {
      const { sealedKey, removed } = publishedSealedKey;
      if (!sealedKey) continue;
      byId.delete(sealedKey.id);
      if (!removed) byId.set(sealedKey.id, sealedKey);
    }
    const keys = [...byId.values()];
    return { keys, latest: keys.at(-1), state, error };
  }, [events, state, error]);
}
