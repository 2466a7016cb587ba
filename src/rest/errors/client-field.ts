import { AppError } from "../../kernel/errors.ts";
import { routingFieldOf, type Sent } from "./routing-field.ts";

/** Fields that services and the GraphQL API name differently from REST. */
const REST_NAMES: Readonly<Record<string, string>> = {
  after: "cursor",
  first: "limit",
  expires_at: "expiration",
};

/**
 * Rewrites a failure's `param` to the field as the client sent it: services name fields once for both APIs. The client
 * may have sent a key's `name` as `label`. A field of the body, or a parameter of the query, that has the service's own
 * name keeps it, such as `after`. Controls of provider routing are in headers, or in the body's `provider`.
 */
export function withClientField(
  error: unknown,
  sent: Sent & { readonly query?: object | undefined },
): unknown {
  if (!(error instanceof AppError)) return error;
  const { body, query } = sent;
  const own = error.param;
  if (own !== null && (isSent(own, query) || isSent(own, body))) return error;
  const renamed = own === null ? undefined : isLabelled(own, body) ? "label" : restNameOf(own);
  const param = renamed ?? routingFieldOf(error, sent);
  if (param === undefined) return error;
  const { code, message, cause, retryAfterSeconds, headers } = error;
  return new AppError(code, message, {
    cause,
    param,
    headers,
    ...(retryAfterSeconds !== undefined && { retryAfterSeconds }),
  });
}

/** A null is a field that was not sent: `name` may be null beside `label`. */
function isSent(name: string, fields: unknown): boolean {
  if (typeof fields !== "object" || fields === null || !Object.hasOwn(fields, name)) return false;
  return (fields as Readonly<Record<string, unknown>>)[name] != null;
}

/** A client may send any name, also that of a member which every object has. */
function restNameOf(param: string): string | undefined {
  return Object.hasOwn(REST_NAMES, param) ? REST_NAMES[param] : undefined;
}

function isLabelled(param: string, body: unknown): boolean {
  if (param !== "name" || typeof body !== "object" || body === null) return false;
  const { name, label } = body as { readonly name?: unknown; readonly label?: unknown };
  return name == null && label != null;
}
