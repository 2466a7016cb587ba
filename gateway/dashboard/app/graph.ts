import { initGraphQLTada } from "gql.tada";
import { type CombinedError, cacheExchange, createClient, fetchExchange } from "urql";
import type { introspection } from "../graphql-env.d.ts";
import { fetchAgain } from "./fetch-again.ts";

/** Creates documents whose results are typed by the schema. */
export const graphql = initGraphQLTada<{
  introspection: introspection;
  scalars: {
    Address: string;
    BigInt: string;
    Cursor: string;
    Date: string;
    DateTime: string;
    Decimal: string;
    Hash32: string;
    Hex: string;
    JSON: unknown;
    Neuron: string;
  };
}>();

/** The GraphQL client of this origin. The session's cookie identifies the caller; no script can read it. */
export const client = createClient({
  url: "/graphql",
  exchanges: [cacheExchange, fetchExchange],
  requestPolicy: "cache-and-network",
  preferGetMethod: false,
  fetchOptions: { credentials: "same-origin" },
  fetch: fetchAgain,
});

/** A user-readable message for an error. */
export function reasonOf(error: unknown): string {
  const { graphQLErrors, networkError } = error as Partial<CombinedError>;
  if (graphQLErrors?.[0]) return graphQLErrors[0].message;
  if (networkError) return "The gateway cannot be reached.";
  if (Array.isArray(error)) return String((error[0] as Error | undefined)?.message ?? "Refused.");
  if (error instanceof Error) return error.message;
  return "The connection to the gateway was lost.";
}

/** The payload of a mutation. Throws with the reason of a failure, or with what the user can correct. */
export function resultOf<Payload extends { readonly userErrors: readonly { readonly message: string }[] }>(
  payload: Payload | null | undefined,
  error?: unknown,
): Payload {
  if (!payload) throw new Error(reasonOf(error));
  const [wrong] = payload.userErrors;
  if (wrong) throw new Error(wrong.message);
  return payload;
}
