import type { FastifyReply } from "fastify";
import type { ExecutionResult } from "graphql";
import { closeSource } from "../../src/kernel/async/releasing-iterator.ts";
import { readRanges } from "../http/media-types.ts";
import type { IncrementalFormat } from "./incremental-format.ts";
import { lossResult, pump, resultText } from "./results.ts";
import type { Results } from "./streamed-operation.ts";
import { StreamingResponse } from "./streaming-response.ts";
import type { Streams } from "./streams.ts";

/** How a client accepts results in parts. */
export type IncrementalType = {
  readonly transport: "multipart" | "events";
  readonly format: IncrementalFormat;
};

const BOUNDARY = "\r\n--graphql";
const HEAD = "\r\ncontent-type: application/json\r\n\r\n";
/** The parameter of the media type that names a format. */
const SPECIFICATIONS: Readonly<Record<IncrementalFormat, string>> = {
  current: ";incrementalSpec=v0.2",
  "2022": ";deferSpec=20220824",
  both: "",
};

/** How an `Accept` header prefers results in parts; undefined if it does not accept them. */
export function incrementalTypeOf(accept: string | undefined): IncrementalType | undefined {
  if (accept === undefined || !/multipart|event-stream/i.test(accept)) return undefined;
  const types = readRanges(accept).flatMap(({ type, parameters, weight }) => {
    const accepted = weight > 0 ? toType(type, parameters) : undefined;
    return accepted ? [{ accepted, weight }] : [];
  });
  return types.toSorted((one, other) => other.weight - one.weight)[0]?.accepted;
}

function toType(type: string, parameters: string): IncrementalType | undefined {
  if (type === "text/event-stream") return { transport: "events", format: "both" };
  if (type !== "multipart/mixed") return undefined;
  const named = /(deferspec|incrementalspec|subscriptionspec)="?([^";]*)"?/.exec(parameters);
  if (!named) return { transport: "multipart", format: "both" };
  if (named[0].startsWith("deferspec") && named[2] === "20220824")
    return { transport: "multipart", format: "2022" };
  if (named[0].startsWith("incrementalspec") && named[2] === "v0.2")
    return { transport: "multipart", format: "current" };
  return undefined;
}

/**
 * Sends results in parts, each after the client has read the one before, and ends the work when the client leaves.
 * `release` runs when the response is over.
 */
export async function streamParts(
  streams: Streams,
  reply: FastifyReply,
  { transport, format }: IncrementalType,
  { results, release }: { readonly results: Results | ExecutionResult; readonly release: () => void },
): Promise<FastifyReply> {
  const isMultipart = transport === "multipart";
  const contentType = isMultipart
    ? `multipart/mixed;boundary="graphql"${SPECIFICATIONS[format]}`
    : "text/event-stream; charset=utf-8";
  reply.hijack();
  const response = new StreamingResponse(
    reply.raw,
    { "content-type": contentType, vary: varying(reply) },
    {
      stallMs: streams.stallMs,
      // A part of multipart that says nothing would end the response for some clients.
      ...(isMultipart ? { first: BOUNDARY, heartbeat: "" } : { heartbeat: ":\n\n" }),
      heartbeatMs: streams.limits.heartbeatMs,
      among: streams.responses,
    },
    () => {
      release();
      if (Symbol.asyncIterator in results) closeSource(results);
    },
  );
  const deliver = (result: ExecutionResult) =>
    response.write(
      isMultipart
        ? `${HEAD}${resultText(result)}${BOUNDARY}`
        : `event: next\ndata: ${resultText(result)}\n\n`,
    );
  await pump(results, deliver, (reason) =>
    deliver({ ...lossResult(reason, streams.report), hasNext: false } as ExecutionResult),
  );
  response.end(isMultipart ? "--\r\n" : "event: complete\ndata:\n\n");
  return reply;
}

/** What the response depends on: with the origin of the page, if CORS is on. */
function varying({ raw }: FastifyReply): string {
  return ["authorization", "accept", ...[raw.getHeader("vary") ?? []].flat()].join(", ");
}
