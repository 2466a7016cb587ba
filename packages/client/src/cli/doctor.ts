import type { OpenTransport } from "../core/transport.ts";
import { createClient } from "../index.ts";
import { serverSentEvents } from "../transports/server-sent-events.ts";
import { webSocket } from "../transports/web-socket.ts";
import type { Command } from "./command.ts";
import { NEW_BLOCKS, VIEWER_KIND } from "./documents.ts";
import { messageOf, UsageError } from "./exit.ts";
import { readReadiness } from "./readiness.ts";
import type { Settings } from "./settings.ts";

type Result = {
  readonly check: string;
  readonly result: "ok" | "failed" | "not_checked";
  readonly detail: string;
};

/** Signing in and receipts compare times. */
const MAX_SKEW_MS = 60_000;
const STREAM_MS = 15_000;
const MARKS = { ok: "ok    ", failed: "FAILED", not_checked: "-     " } as const;

/** `doctor`: checks what a client needs, each with what to do. Exit status 1 if a check failed. */
export const command: Command = async ({ words, settings, print }) => {
  if (words.length > 0) throw new UsageError("zerograph doctor [--url <address>] [--json]");
  const { url } = settings;
  const first = await Promise.all([
    check("node", () => `version ${process.versions.node}`),
    check("gateway", () => checkGateway(settings)),
    check("graph", () => checkGraph(url)),
  ]);
  const isReached = first.every(({ check: name, result }) => name !== "graph" || result === "ok");
  // Each asks the graph: without it, a stream would only wait for its time to end.
  const further: readonly (readonly [string, Check])[] = [
    ["websocket", () => checkStream(url, webSocket())],
    ["server-sent events", () => checkStream(url, serverSentEvents())],
    ["sk- key", () => checkKey(url, settings.apiKey, "API_KEY", "ZEROGRAPH_KEY")],
    ["mk- key", () => checkKey(url, settings.managementKey, "MANAGEMENT_KEY", "ZEROGRAPH_MANAGEMENT_KEY")],
  ];
  const skip: Check = () => ({ why: "the graph does not answer." });
  const others = await Promise.all(further.map(([name, run]) => check(name, isReached ? run : skip)));
  const results = [...first, ...others];
  print(results, () =>
    results.map(({ check: name, result, detail }) => `${MARKS[result]}  ${name}: ${detail}`).join("\n"),
  );
  return results.every(({ result }) => result !== "failed") ? 0 : 1;
};

/** A check resolves with its detail, with why there is nothing to check, or throws. */
type Check = () => string | NotChecked | Promise<string | NotChecked>;
type NotChecked = { readonly why: string };

async function check(name: string, run: Check): Promise<Result> {
  try {
    const found = await run();
    if (typeof found === "string") return { check: name, result: "ok", detail: found };
    return { check: name, result: "not_checked", detail: found.why };
  } catch (error) {
    return { check: name, result: "failed", detail: messageOf(error).message };
  }
}

async function checkGateway({ url, from }: Settings): Promise<string> {
  const { isReady, status, date } = await readReadiness(url);
  if (!isReady) throw new UsageError(`${url} (from ${from}) is ${status}: run zerograph status.`);
  const skewMs = Math.abs(Date.parse(date ?? "") - Date.now());
  if (skewMs > MAX_SKEW_MS)
    throw new UsageError(`This clock differs from the gateway's by ${Math.round(skewMs / 1_000)} s: set it.`);
  return `${url} (from ${from}) is ready.`;
}

async function checkGraph(url: string): Promise<string> {
  await createClient({ url }).query(VIEWER_KIND);
  return `${url}/graphql answers queries.`;
}

/** A proxy that does not pass on a stream is noticed here: the first block must arrive. */
async function checkStream(url: string, transport: OpenTransport): Promise<string> {
  const client = createClient({ url, transport });
  const signal = AbortSignal.timeout(STREAM_MS);
  try {
    const blocks = client.subscribe(NEW_BLOCKS, {}, { signal });
    const { done } = await blocks.next();
    if (done)
      throw new UsageError(`No event arrived in ${STREAM_MS / 1_000} s. Does a proxy pass streams on?`);
    return "events arrive.";
  } finally {
    client.dispose();
  }
}

async function checkKey(
  url: string,
  credential: string | undefined,
  kind: string,
  variable: string,
): Promise<string | NotChecked> {
  if (credential === undefined) return { why: `${variable} is not set.` };
  const { viewer } = await createClient({ url, credential }).query<
    { readonly viewer: { readonly kind: string } },
    object
  >(VIEWER_KIND);
  if (viewer.kind !== kind) throw new UsageError(`${variable} has a credential of the kind ${viewer.kind}.`);
  return "the gateway accepts it.";
}
