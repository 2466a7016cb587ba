import type { FastifyReply, FastifyRequest } from "fastify";
import { whenClosed } from "../../kernel/async/when-closed.ts";
import { AppError } from "../../kernel/errors.ts";
import { Slot } from "../../kernel/slot.ts";
import { isRequestId, newRequestId } from "../../kernel/text/ids.ts";
import type { Route } from "../route.ts";
import { authorizationHeaderOf, timesSent } from "./headers.ts";

type RequestIds = { readonly own: string; readonly shown: string };

const ids = new Slot<FastifyRequest, RequestIds>();

/** `own` is unique and identifies the request in the ledger; `shown` is the client's `X-Request-ID` if it is valid. */
export function requestIdsOf(request: FastifyRequest): RequestIds {
  const known = ids.get(request);
  if (known) return known;
  const own = newRequestId();
  const sent = request.headers["x-request-id"];
  const made = { own, shown: typeof sent === "string" && isRequestId(sent) ? sent : own };
  ids.set(request, made);
  return made;
}

/**
 * The credential of a request. Public endpoints ignore the header, since official clients always send a key, even an
 * invalid one. Anthropic's clients send the key as `X-Api-Key`, which is read on its endpoints when there is no
 * Authorization, and refused on others, so that they do not doubt the key. Throws `invalid_api_key`.
 */
export function authorizationOf(request: FastifyRequest, { access, errors }: Route): string | undefined {
  if (access === "public") return undefined;
  const authorization = authorizationHeaderOf(request.raw);
  const apiKey = request.headers["x-api-key"];
  if (timesSent(request.raw.rawHeaders, "authorization") === 0 && typeof apiKey === "string") {
    if (errors === "anthropic") return `Bearer ${apiKey}`;
    const message =
      "Send the key as `Authorization: Bearer <key>`: X-Api-Key is read at /v1/messages and below it only.";
    throw new AppError("missing_authorization", message);
  }
  return authorization;
}

/** The `Idempotency-Key` of a request; of several, an empty one, which is malformed. Node joins them to one. */
export function idempotencyKeyOf({ headers, raw }: FastifyRequest): string | undefined {
  const key = headers["idempotency-key"];
  if (typeof key !== "string") return undefined;
  return timesSent(raw.rawHeaders, "idempotency-key") === 1 ? key : "";
}

/** Aborts when the client disconnects before the response was written, also if it already has. */
export function abortSignalOf(reply: FastifyReply): AbortSignal {
  const abort = new AbortController();
  whenClosed(reply.raw, () => {
    if (!reply.raw.writableEnded) abort.abort();
  });
  return abort.signal;
}
