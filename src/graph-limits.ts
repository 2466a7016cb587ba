import { z } from "zod";

/** Default limits on GraphQL requests, the same on every transport (promises P8). */
export const GRAPH_LIMITS = {
  /** Bytes of a document. Larger values, such as a segment in base64, are sent in variables. */
  documentBytes: 65_536,
  /** Tokens of a document. */
  tokens: 2_000,
  /** Nesting depth of fields; `introspectionDepth` for introspection, which is as deep as types are wrapped. */
  depth: 10,
  introspectionDepth: 20,
  /** These four are counted with every fragment spread expanded. */
  aliases: 15,
  rootFields: 10,
  directives: 20,
  fields: 2_000,
  /** How often one response key may occur in one selection set: comparing them is quadratic. */
  repeats: 50,
  /** Variables of an operation. */
  variables: 100,
  /** Static cost of an operation: a mutation is 10, an object 1, a list its length times that. */
  cost: 1_000,
  /** The assumed length of a list without a declared size. */
  listSize: 5,
  /** Items of a list and bytes of a string in an argument; the gateway's policy lists the few exceptions. */
  listItems: 100,
  textBytes: 4_096,
  /** Bytes of one HTTP request, which may carry a segment of 256 KiB as base64, and of one WebSocket frame. */
  bodyBytes: 524_288,
  frameBytes: 65_536,
  /** Nesting depth of objects and lists in JSON that is sent. */
  jsonDepth: 64,
  /** Open streaming connections: per process; per address without a credential; and per credential, by kind. */
  connections: 20_000,
  connectionsPerAddress: 1_000,
  socketsPerKey: 20,
  streamsPerKey: 100,
  /** Active operations on one socket, or in one event stream that carries several. */
  subscriptionsPerSocket: 100,
  /** Messages from a client on one socket. */
  messagesPerSecond: 100,
  /** How long a socket may wait before it sends `connection_init`. */
  initMs: 3_000,
  /** Interval of pings on an idle connection. A socket that does not respond before the next ping is closed. */
  heartbeatMs: 12_000,
  /** How long a subscription that lost its source stays open while the gateway tries to resume it. */
  resumeMs: 60_000,
} as const;

export type GraphLimits = { readonly [Name in keyof typeof GRAPH_LIMITS]: number };

const NAMES: ReadonlySet<string> = new Set(Object.keys(GRAPH_LIMITS));

/** Reads `name=number,name=number` as overrides of the default limits. */
export const graphLimits = z.string().transform((text, context): GraphLimits => {
  const overrides = new Map<string, number>();
  for (const part of text.split(",")) {
    const [, name = "", value] = /^\s*(\w+)\s*=\s*([1-9]\d{0,8})\s*$/.exec(part) ?? [];
    if (!NAMES.has(name))
      context.addIssue({ code: "custom", message: `must be name=number, of ${[...NAMES].join(", ")}` });
    else if (overrides.has(name)) context.addIssue({ code: "custom", message: `has ${name} twice` });
    overrides.set(name, Number(value));
  }
  return { ...GRAPH_LIMITS, ...Object.fromEntries(overrides) };
});
