import type { FastifyRequest } from "fastify";
import { AppError } from "../../src/kernel/errors.ts";
import type { OperationPayload } from "../federation/policy/policy.ts";

/**
 * The operation in a request for a stream. Throws `unsupported_media_type` for a body that is no JSON, and `invalid_body`
 * for a member of another type, which would be ignored.
 */
export function payloadOf(request: FastifyRequest): OperationPayload {
  const payload: unknown = request.method === "GET" ? payloadInQuery(request.query) : request.body;
  if (request.method === "POST" && payload === undefined)
    throw new AppError("unsupported_media_type", "Send the operation as application/json.");
  const { query, documentId, operationName, variables, extensions } = Object(payload) as Record<
    string,
    unknown
  >;
  if (typeof payload !== "object" || payload === null || Array.isArray(payload)) throw malformed("body");
  if (!isText(query)) throw malformed("query");
  if (!isText(documentId)) throw malformed("documentId");
  if (!isText(operationName)) throw malformed("operationName");
  if (!isMembers(variables)) throw malformed("variables");
  if (!isMembers(extensions)) throw malformed("extensions");
  return { query, documentId, operationName, variables, extensions };
}

function payloadInQuery(query: unknown): Readonly<Record<string, unknown>> {
  const { variables, extensions, ...rest } = Object(query) as Record<string, unknown>;
  return { ...rest, variables: parsed(variables, "variables"), extensions: parsed(extensions, "extensions") };
}

function parsed(text: unknown, param: string): unknown {
  if (text === undefined) return undefined;
  try {
    return JSON.parse(String(text));
  } catch {
    throw malformed(param);
  }
}

function isText(value: unknown): value is string | null | undefined {
  return value === undefined || value === null || typeof value === "string";
}

function isMembers(value: unknown): value is Readonly<Record<string, unknown>> | null | undefined {
  return value === undefined || value === null || (typeof value === "object" && !Array.isArray(value));
}

function malformed(param: string): AppError {
  return new AppError("invalid_body", `${param} is not valid in GraphQL over HTTP.`, { param });
}
