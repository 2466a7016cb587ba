import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { StartupError } from "../../../src/kernel/errors.ts";

/** The documents of the operator's own clients, by the id that a client sends in place of the text. */
export type TrustedDocuments = {
  /** Whether all other documents are refused. */
  readonly only: boolean;
  /** The text of an id, in either of the forms that clients use. */
  text(id: string): string | undefined;
  /** Whether a text is exactly one of them. */
  has(text: string): boolean;
  readonly all: readonly { readonly id: string; readonly text: string }[];
};

/** No trusted documents. */
export const NO_TRUSTED_DOCUMENTS: TrustedDocuments = {
  only: false,
  text: () => undefined,
  has: () => false,
  all: [],
};

const MAX_DOCUMENTS = 10_000;

/**
 * Reads a manifest: Apollo's
 * (`{"format":"apollo-persisted-query-manifest","version":1,"operations":[{"id","body"}]}`) or an object of texts by
 * id, as Relay's and GraphQL Code Generator's tools write it. The SHA-256 of a document's text is also accepted as
 * its id. Throws a StartupError for any other file.
 */
export function readTrustedDocuments(path: string, only: boolean): TrustedDocuments {
  const documents = parseManifest(path);
  if (documents.length > MAX_DOCUMENTS) throw wrong(path, `it has more than ${MAX_DOCUMENTS} documents`);
  const byId = new Map<string, string>();
  for (const { id, text } of documents) {
    byId.set(createHash("sha256").update(text).digest("hex"), text);
    byId.set(id, text);
  }
  const texts = new Set(byId.values());
  return { only, all: documents, text: (id) => byId.get(withoutPrefix(id)), has: (text) => texts.has(text) };
}

function parseManifest(path: string): readonly { readonly id: string; readonly text: string }[] {
  let manifest: unknown;
  try {
    manifest = JSON.parse(readFileSync(path, "utf8"));
  } catch (error) {
    throw wrong(path, error instanceof Error ? error.message : String(error));
  }
  const { format, operations } = Object(manifest) as { format?: unknown; operations?: unknown };
  if (typeof manifest !== "object" || manifest === null || Array.isArray(manifest))
    throw wrong(path, "it is not an object");
  const entries =
    format === "apollo-persisted-query-manifest" && Array.isArray(operations)
      ? operations.map((one: unknown) => [Object(one).id, Object(one).body])
      : Object.entries(manifest);
  return entries.map(([id, text]) => {
    if (typeof id !== "string" || typeof text !== "string")
      throw wrong(path, "every document must have an id and a text");
    return { id: withoutPrefix(id), text };
  });
}

/** The specification of persisted documents allows an id to be prefixed with its hash algorithm. */
function withoutPrefix(id: string): string {
  return id.startsWith("sha256:") ? id.slice("sha256:".length) : id;
}

function wrong(path: string, why: string): StartupError {
  return new StartupError(`TRUSTED_DOCUMENTS: ${path} is not a document manifest (${why}).`);
}
