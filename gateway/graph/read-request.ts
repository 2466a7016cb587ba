import type { FastifyRequest } from "fastify";
import secureJson from "secure-json-parse";
import type { OperationPayload } from "../federation/policy/policy.ts";
import { graphTypeFor } from "../http/media-types.ts";
import { type IncrementalType, incrementalTypeOf } from "../subscriptions/streams.incremental.ts";

/** An operation as one request carries it. */
export type ReadRequest = {
  readonly payload: OperationPayload;
  /** The media type of a single response; undefined if the client accepts only parts. */
  readonly mediaType: string | undefined;
  /** How the client accepts a response in parts. */
  readonly incremental: IncrementalType | undefined;
};

const MEMBERS: ReadonlySet<string> = new Set([
  "query",
  "documentId",
  "variables",
  "operationName",
  "extensions",
]);
const JSON_CONTENT = /^application\/json(?: *; *charset=utf-8)?$/i;

/**
 * Reads a request in the forms that Apollo Client, urql and Relay send: a JSON POST or a GET, with the text of the
 * operation, the id of a trusted document or the hash of a persisted query. Undefined for every other request, and for
 * one that is not well-formed.
 */
export function readRequest({
  method,
  headers,
  body,
  query,
}: Pick<FastifyRequest, "method" | "headers" | "body" | "query">): ReadRequest | undefined {
  const mediaType = graphTypeFor(headers.accept);
  const incremental = incrementalTypeOf(headers.accept);
  if (!mediaType && !incremental) return undefined;
  const payload = method === "POST" ? ofBody(headers, body) : method === "GET" ? ofSearch(query) : undefined;
  return payload && isWellFormed(payload) ? { payload, mediaType, incremental } : undefined;
}

type Members = Readonly<Record<string, unknown>>;

function ofBody(headers: FastifyRequest["headers"], body: unknown): Members | undefined {
  if (!JSON_CONTENT.test(headers["content-type"] ?? "")) return undefined;
  if (typeof body !== "object" || body === null || Array.isArray(body)) return undefined;
  return body as Members;
}

function ofSearch(search: unknown): Members | undefined {
  const { variables, extensions, ...texts } = Object(search) as Members;
  try {
    return { ...texts, variables: parsed(variables), extensions: parsed(extensions) };
  } catch {
    return undefined;
  }
}

function parsed(text: unknown): unknown {
  return text === undefined ? undefined : secureJson.parse(String(text));
}

function isWellFormed(members: Members): boolean {
  for (const member in members) if (!MEMBERS.has(member)) return false;
  const { query, documentId, variables, operationName, extensions } = members;
  const isNamed = isText(documentId) || hasHash(extensions);
  if (!(isText(query) || (isAbsent(query) && isNamed))) return false;
  if (!(isAbsent(operationName) || isText(operationName)) || !(isAbsent(documentId) || isText(documentId)))
    return false;
  return isObjectOrAbsent(variables) && isObjectOrAbsent(extensions) && isPersistedWell(extensions);
}

/** Any extension changes nothing, such as the client's name that Apollo Client sends, except for a persisted query. */
function isPersistedWell(extensions: unknown): boolean {
  if (isAbsent(extensions) || !Object.hasOwn(Object(extensions), "persistedQuery")) return true;
  return hasHash(extensions) && Object(Object(extensions).persistedQuery).version === 1;
}

function hasHash(extensions: unknown): boolean {
  return typeof Object(Object(extensions).persistedQuery).sha256Hash === "string";
}

function isText(value: unknown): value is string {
  return typeof value === "string" && value !== "";
}

function isObjectOrAbsent(value: unknown): boolean {
  return isAbsent(value) || (typeof value === "object" && !Array.isArray(value));
}

function isAbsent(value: unknown): value is null | undefined {
  return value === undefined || value === null;
}
