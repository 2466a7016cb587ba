import { createServer } from "node:http";
import { json } from "node:stream/consumers";
import type { OnEnd } from "./database.ts";

/** A span as received, with the process it is from. */
export type CollectedSpan = {
  readonly service: string;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string | undefined;
  readonly name: string;
  /** OTLP's numbers: 1 internal, 2 server, 3 client. */
  readonly kind: number;
  /** Nanoseconds since 1970. */
  readonly startTimeUnixNano: bigint;
  readonly endTimeUnixNano: bigint;
  readonly facts: Readonly<Record<string, string | number | boolean>>;
  readonly links: number;
};

/** A collector of traces: OTLP over HTTP, as JSON. `text` is everything that was ever sent to it. */
export type TraceCollector = {
  readonly url: string;
  readonly spans: CollectedSpan[];
  text(): string;
};

type Value = { stringValue?: string; intValue?: number | string; doubleValue?: number; boolValue?: boolean };
type Attribute = { key: string; value: Value };
type Sent = {
  resourceSpans: {
    resource: { attributes: Attribute[] };
    scopeSpans: {
      spans: (Pick<CollectedSpan, "traceId" | "spanId" | "parentSpanId" | "name" | "kind"> & {
        startTimeUnixNano: string;
        endTimeUnixNano: string;
        attributes?: Attribute[];
        links?: unknown[];
      })[];
    }[];
  }[];
};

export async function startTraceCollector(onEnd: OnEnd, port = 0): Promise<TraceCollector> {
  const spans: CollectedSpan[] = [];
  const bodies: string[] = [];
  const server = createServer(async (request, response) => {
    const sent = (await json(request)) as Sent;
    bodies.push(JSON.stringify(sent));
    for (const { resource, scopeSpans } of sent.resourceSpans) {
      const service = String(factsOf(resource.attributes)["service.name"]);
      for (const { attributes, links, ...span } of scopeSpans.flatMap((scope) => scope.spans))
        spans.push({
          ...span,
          startTimeUnixNano: BigInt(span.startTimeUnixNano),
          endTimeUnixNano: BigInt(span.endTimeUnixNano),
          service,
          facts: factsOf(attributes),
          links: links?.length ?? 0,
        });
    }
    response.setHeader("content-type", "application/json").end("{}");
  });
  await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
  onEnd(async () => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  if (typeof address !== "object" || address === null) throw new Error("no address");
  return { url: `http://127.0.0.1:${address.port}`, spans, text: () => bodies.join("\n") };
}

function factsOf(attributes: readonly Attribute[] = []): CollectedSpan["facts"] {
  return Object.fromEntries(
    attributes.map(({ key, value }) => [
      key,
      value.stringValue ?? value.boolValue ?? Number(value.intValue ?? value.doubleValue),
    ]),
  );
}
