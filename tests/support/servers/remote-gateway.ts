import { openGraph } from "../../../gateway/federation/graph.ts";
import { createServer } from "../../../gateway/server.ts";
import type { App } from "../../../src/app.ts";
import { modules } from "../../../subgraphs/modules.ts";
import { createSubgraphServer } from "../../../subgraphs/serve.ts";
import type { Stack } from "../stack.ts";

const SECRET = "a secret of the tests, long enough to be taken";
/** The subgraphs, and what an external router sees in them. */
export const ROUTER_SECRET = "a router's secret of the tests, long enough as well";

type OnEnd = (end: () => Promise<void>) => void;

/** The subgraphs of a product as separate services, served by Mercurius. Returns the address of each. */
export async function startSubgraphs(
  app: App,
  onEnd: OnEnd,
  secrets: readonly string[] = [SECRET],
): Promise<Readonly<Record<string, string>>> {
  const urls: Record<string, string> = {};
  for (const { name, build } of modules) {
    const trust = { secrets, routerSecret: ROUTER_SECRET };
    const server = await createSubgraphServer(app, build(), trust);
    onEnd(() => server.close());
    urls[name] = await server.listen({ host: "127.0.0.1", port: 0 });
  }
  return urls;
}

/** A second gateway over the same services, which calls each subgraph over HTTP and WebSocket. */
export async function startRemoteGateway(
  { app }: Pick<Stack, "app">,
  onEnd: OnEnd,
  { secret = SECRET, secrets = [SECRET] }: { secret?: string; secrets?: readonly string[] } = {},
): Promise<{ origin: string; urls: Readonly<Record<string, string>>; secret: string }> {
  const urls = await startSubgraphs(app, onEnd, secrets);
  const graph = await openGraph({ kind: "remote", urls, secret }, app);
  onEnd(() => graph.close());
  const server = await createServer(app, graph);
  onEnd(() => server.close());
  const origin = await server.listen({ host: "127.0.0.1", port: 0 });
  return { origin, urls, secret };
}
