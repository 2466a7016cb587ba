import { z } from "zod";

/** Limits on what the graph is asked, the same on every transport, with what they are unless told (promises P8). */
export const GRAPH_LIMITS = {
  /** Bytes of a document. What is larger, such as a segment in base64, is sent in variables. */
  documentBytes: 65_536,
  /** Tokens of a document. */
  tokens: 2_000,
  /** Fields within fields; of introspection, which is as deep as types are wrapped, `introspectionDepth`. */
  depth: 10,
  introspectionDepth: 20,
  /** These four are counted with fragments written out wherever they are spread. */
  aliases: 15,
  rootFields: 10,
  directives: 20,
  fields: 2_000,
  /** How often one response key may stand in one selection set: comparing them is quadratic. */
  repeats: 50,
  /** Variables of an operation. */
  variables: 100,
  /** Static cost of an operation: a mutation is 10, an object 1, a list its length times that. */
  cost: 1_000,
  /** The assumed length of a list without a stated one. */
  listSize: 5,
  /** Items of a list, and bytes of a text, in an argument; the few that may be longer are listed in the gateway's policy. */
  listItems: 100,
  textBytes: 4_096,
  /** One request over HTTP, which may carry a segment of 256 KiB as base64, and one frame of a socket. */
  bodyBytes: 524_288,
  frameBytes: 65_536,
  /** Levels of objects and lists in what is sent as JSON. */
  jsonDepth: 64,
  /** Open connections that stream: of a process; without a credential, of one address; and of one credential by kind. */
  connections: 20_000,
  connectionsPerAddress: 1_000,
  socketsPerKey: 20,
  streamsPerKey: 100,
  /** Operations under way on one socket, or in one event stream that carries several. */
  subscriptionsPerSocket: 100,
  /** Messages of a client on one socket. */
  messagesPerSecond: 100,
  /** How long a socket may wait before it says who it is. */
  initMs: 3_000,
  /** How often a quiet connection is told that it lives. A socket that gives no sign until the next time is dropped. */
  heartbeatMs: 12_000,
  /** How long a subscription that lost its source is kept while the gateway tries to resume it. */
  resumeMs: 60_000,
} as const;

export type GraphLimits = { readonly [Name in keyof typeof GRAPH_LIMITS]: number };

const NAMES: ReadonlySet<string> = new Set(Object.keys(GRAPH_LIMITS));

/** Reads `name=number,name=number`, over the limits that hold unless told. */
export const graphLimits = z.string().transform((text, context): GraphLimits => {
  const told: Record<string, number> = {};
  for (const part of text.split(",")) {
    const [name = "", value = ""] = part.split("=").map((word) => word.trim());
    if (NAMES.has(name) && /^[1-9]\d{0,8}$/.test(value)) told[name] = Number(value);
    else context.addIssue({ code: "custom", message: `must be name=number, of ${[...NAMES].join(", ")}` });
  }
  return { ...GRAPH_LIMITS, ...told };
});
