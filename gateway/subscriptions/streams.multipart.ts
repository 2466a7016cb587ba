import type { FastifyReply, FastifyRequest } from "fastify";
import type { GraphQLError } from "graphql";
import { closeSource } from "../../src/kernel/async/releasing-iterator.ts";
import { runInTurn } from "../../src/kernel/async/shared-turns.ts";
import { whenClosed } from "../../src/kernel/async/when-closed.ts";
import { hopOf } from "../../src/keys/auth/source-address.ts";
import { showError } from "../federation/policy/refusals.ts";
import { sendErrors } from "../graph/graph-errors.ts";
import type { OperationAccount } from "../graph/operation-account.ts";
import { lossResult, pump, resultText, showResult } from "./results.ts";
import { payloadOf } from "./stream-payload.ts";
import { acquireStreamSlot } from "./stream-slot.ts";
import { StreamingResponse } from "./streaming-response.ts";
import type { Streams } from "./streams.ts";

const BOUNDARY = "\r\n--graphql";
const HEAD = "\r\ncontent-type: application/json\r\n\r\n";
const END = "--\r\n";
const CONTENT_TYPE = 'multipart/mixed;boundary="graphql";subscriptionSpec=1.0';

/** Whether a client accepts a subscription as a multipart response, as Apollo Client does. */
export function wantsMultipart({ method, headers }: FastifyRequest): boolean {
  const accept = headers.accept ?? "";
  return method === "POST" && /multipart\/mixed\b[^,]*;\s*subscriptionSpec="?1\.0"?/i.test(accept);
}

/**
 * Answers a subscription with version 1.0 of Apollo's multipart protocol: every result is a part with a `payload`, a
 * heartbeat is `{}`, and `errors` beside a null `payload` report a lost stream. Returns false for an operation that
 * is not a subscription, which gets the ordinary response. Throws what `payloadOf` throws, and `rate_limit_exceeded` before
 * anything is sent.
 */
export async function streamMultipart(
  streams: Streams,
  call: {
    readonly request: FastifyRequest;
    readonly reply: FastifyReply;
    readonly account: OperationAccount;
  },
): Promise<boolean> {
  const { request, reply, account } = call;
  const payload = payloadOf(request);
  if (streams.kindOf(payload) === "unary") return false;
  const memory = streams.memoryOf(request.raw, account.principal);
  const operation = await streams.admit(payload, { account, memory });
  if (!("document" in operation)) return refuse(reply, operation);
  const release = acquireStreamSlot(streams, account.principal, hopOf(request.raw));
  reply.hijack();
  const { heartbeatMs } = streams.limits;
  const response = new StreamingResponse(
    reply.raw,
    { "content-type": CONTENT_TYPE },
    {
      stallMs: streams.stallMs,
      first: BOUNDARY,
      heartbeat: part("{}"),
      heartbeatMs,
      among: streams.responses,
    },
    release,
  );
  whenClosed(reply.raw, () => memory.end());
  if (reply.raw.closed) return true;
  const results = await streams.run(operation).catch((error: unknown) => lossResult(error, streams.report));
  if (Symbol.asyncIterator in results) whenClosed(reply.raw, () => runInTurn(() => closeSource(results)));
  await pump(
    results,
    (result) => response.write(part(`{"payload":${resultText(result)}}`)),
    (reason) => {
      const { errors } = showResult(lossResult(reason, streams.report));
      return response.write(part(JSON.stringify({ payload: null, errors })));
    },
  );
  response.end(END);
  return true;
}

/** A part followed by the boundary: clients handle a part once they see its end. */
function part(json: string): string {
  return HEAD + json + BOUNDARY;
}

function refuse(reply: FastifyReply, errors: readonly GraphQLError[]): true {
  sendErrors(
    reply,
    400,
    errors.map((error) => showError(error.toJSON())),
  );
  return true;
}
