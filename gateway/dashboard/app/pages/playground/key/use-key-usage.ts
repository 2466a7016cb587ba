import { useEffect, useState } from "react";
import * as z from "zod/mini";
import { nearestNeuron } from "../../../data/amounts.ts";

const schema = z.object({
  data: z.object({
    label: z.string(),
    limit: z.nullable(z.number()),
    limit_remaining: z.nullable(z.number()),
    expires_at: z.nullable(z.string()),
  }),
});

/** What a key may spend, as `GET /v1/key` states it; amounts in neuron, as near as JSON numbers are. */
export type KeyUsage = {
  readonly label: string;
  readonly limit: string | undefined;
  readonly remaining: string | undefined;
  readonly expiresAt: string | null;
};

/** The usage of a key, read again whenever `version` changes; undefined until it is known. */
export function useKeyUsage(secret: string | undefined, version: number): KeyUsage | undefined {
  const [usage, setUsage] = useState<KeyUsage>();
  // biome-ignore lint/correctness/useExhaustiveDependencies: another version is another state of the same key.
  useEffect(() => {
    if (!secret) return setUsage(undefined);
    const abort = new AbortController();
    read(secret, abort.signal).then(setUsage, () => {
      // Shown without its usage; a request says what is wrong with the key.
      if (!abort.signal.aborted) setUsage(undefined);
    });
    return () => abort.abort();
  }, [secret, version]);
  return usage;
}

async function read(secret: string, signal: AbortSignal): Promise<KeyUsage | undefined> {
  const headers = { authorization: `Bearer ${secret}` };
  const response = await fetch("/v1/key", { headers, signal, credentials: "omit" });
  const { data } = z.safeParse(schema, await response.json());
  if (!data) return undefined;
  const { label, limit, limit_remaining: remaining, expires_at: expiresAt } = data.data;
  return {
    label,
    limit: limit === null ? undefined : nearestNeuron(limit),
    remaining: remaining === null ? undefined : nearestNeuron(remaining),
    expiresAt,
  };
}
