import { initGraphQLTada } from "gql.tada";
import {
  type CombinedError,
  cacheExchange,
  createClient,
  fetchExchange,
  makeOperation,
  mapExchange,
  type Operation,
} from "urql";
import type { introspection } from "../../../graphql-env.d.ts";
import { noteRefusal } from "../session/session-watch.ts";
import { fetchAgain, pauseUnreachable } from "./fetch-again.ts";

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

const OPTIONS = {
  url: "/graphql",
  preferGetMethod: false,
  fetchOptions: { credentials: "same-origin" },
  fetch: fetchAgain,
} as const;

function noteRefusals(error: CombinedError): void {
  for (const code of codesOf(error)) noteRefusal(code);
}

/** The GraphQL client of this origin. The session's cookie identifies the caller; no script can read it. */
export const client = createClient({
  ...OPTIONS,
  exchanges: [
    cacheExchange,
    mapExchange({
      onError: noteRefusals,
      onResult: ({ operation, error }) => {
        if (operation.kind === "query" && isUnreachable(error)) void executeLater(operation);
      },
    }),
    fetchExchange,
  ],
  requestPolicy: "cache-and-network",
});

/**
 * The same without a cache, which would keep every answer until the page is left: for what is read once, such as the
 * pages of a long list.
 */
export const reader = createClient({
  ...OPTIONS,
  exchanges: [mapExchange({ onError: noteRefusals }), fetchExchange],
  requestPolicy: "network-only",
});

const waiting = new Set<number>();

/** Executes a query again after a pause, if it is still shown then: a page recovers when the gateway is back. */
async function executeLater(operation: Operation): Promise<void> {
  if (waiting.has(operation.key)) return;
  waiting.add(operation.key);
  await pauseUnreachable();
  waiting.delete(operation.key);
  client.reexecuteOperation(
    makeOperation(operation.kind, operation, { ...operation.context, requestPolicy: "network-only" }),
  );
}

/** Whether a query failed without an answer of the gateway. */
export function isUnreachable(error: CombinedError | undefined): error is CombinedError {
  return error?.networkError !== undefined;
}

/** A user-readable message for an error. */
export function reasonOf(error: unknown): string {
  const { graphQLErrors, networkError } = error as Partial<CombinedError>;
  if (graphQLErrors?.[0]) return graphQLErrors[0].message;
  if (networkError) return "The gateway cannot be reached.";
  if (Array.isArray(error)) return String((error[0] as Error | undefined)?.message ?? "Refused.");
  if (error instanceof Error) return error.message;
  return "The connection to the gateway was lost.";
}

const REFUSALS = new Set(["missing_authorization", "session_ended", "insufficient_scope", "access_denied"]);

/** Whether the caller may not read what was queried, so that trying again does not help. */
export function isRefusal(error: unknown): boolean {
  return codesOf(error).some((code) => REFUSALS.has(code));
}

/** Whether the caller has a session that has ended: as long as its cookie is sent, everything is refused. */
export function isSessionEnded(error: unknown): boolean {
  return codesOf(error).includes("session_ended");
}

/** Whether the caller has no session. */
export function isAnonymous(error: unknown): boolean {
  return codesOf(error).includes("missing_authorization");
}

function codesOf(error: unknown): readonly string[] {
  const { graphQLErrors } = error as Partial<CombinedError>;
  return graphQLErrors?.map(({ extensions }) => String(extensions.code)) ?? [];
}

/** What a user can correct: `field` is the field of `input`, as a path with dots; null if it is not one field. */
export type UserError = { readonly field?: string | null; readonly message: string };

/** A mutation that was not carried out, because of what the user entered. */
export class InputRefused extends Error {
  readonly userErrors: readonly UserError[];

  constructor(userErrors: readonly UserError[]) {
    super(userErrors.map(({ message }) => message).join(" "));
    this.name = "InputRefused";
    this.userErrors = userErrors;
  }
}

/**
 * The payload of a mutation. Throws `InputRefused` with what the user can correct, which a `GraphForm` shows at the
 * fields, and an `Error` with the reason of any other failure.
 */
export function resultOf<Payload extends { readonly userErrors: readonly UserError[] }>(
  payload: Payload | null | undefined,
  error?: unknown,
): Payload {
  if (!payload) throw new Error(reasonOf(error));
  if (payload.userErrors.length > 0) throw new InputRefused(payload.userErrors);
  return payload;
}
