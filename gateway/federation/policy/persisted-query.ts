import { createHash } from "node:crypto";
import { GraphQLError } from "graphql";
import type { GraphqlCode } from "../../../src/kernel/errors.ts";
import type { OperationPayload } from "./policy.ts";

/**
 * Refuses a `persistedQuery` extension that is not of Apollo's protocol, version 1, or whose hash is not that of the
 * query. Apollo Server reports these errors without a code, like internal ones. Undefined for a valid extension;
 * whether the hash is known is checked later.
 */
export function refusePersistedQuery({ query, extensions }: OperationPayload): GraphQLError | undefined {
  const given: unknown = Object(extensions).persistedQuery;
  if (!given) return undefined;
  const { version, sha256Hash } = Object(given) as {
    readonly version?: unknown;
    readonly sha256Hash?: unknown;
  };
  if (version !== 1) return badRequest("extensions.persistedQuery.version must be 1.");
  if (typeof sha256Hash !== "string")
    return badRequest("extensions.persistedQuery.sha256Hash must be a string.");
  if (typeof query !== "string" || query === "") return undefined;
  if (createHash("sha256").update(query).digest("hex") === sha256Hash) return undefined;
  return badRequest(
    "extensions.persistedQuery.sha256Hash is not the SHA-256 of the query, in lower-case hexadecimal.",
  );
}

function badRequest(message: string): GraphQLError {
  return new GraphQLError(message, { extensions: { code: "BAD_REQUEST" satisfies GraphqlCode } });
}
