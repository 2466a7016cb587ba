import { installPeers, ROUTERS } from "../../peers/install.ts";
import type { OnEnd } from "../../support/servers/database.ts";
import type { Child } from "../child.ts";
import { type Competitor, compete, type GraphPace } from "../graph-compete.ts";
import { killChild, openDevnet, openGateways, startPeer } from "../graph-gateways.ts";
import { runLoad } from "../load.ts";
import { askChild } from "../peers/graph/dialogue.ts";
import type { EngineQuestion, LoadResult } from "../peers/graph/engine.ts";
import { ENGINES } from "../peers/graph/engines.ts";
import { GATEWAYS, type GatewayName } from "../peers/graph/gateways.ts";
import { MARKET_OPERATIONS } from "../peers/graph/market.ts";
import { openProduct, PRODUCT_OPERATIONS } from "../peers/graph/product.ts";
import { cpuOf } from "../processes.ts";
import { benchClients } from "./graph-clients.bench.ts";
import { compareStreams } from "./graph-streams.bench.ts";

type Bench = (pace: GraphPace, onEnd: OnEnd) => Promise<string>;

/**
 * Measures the graph against peer gateways, where npm can install them, and prints each table when it is
 * done.
 */
export async function benchGraph(
  pace: GraphPace,
  onEnd: OnEnd,
  tell: (table: string) => void,
  benches: readonly Bench[] = [benchEngines, benchGateways, benchClients, benchStreams],
): Promise<void> {
  if (!(await installPeers(ROUTERS))) return;
  for (const bench of benches) {
    const ends: (() => Promise<void>)[] = [];
    onEnd(async () => endAll(ends));
    tell(await bench(pace, (end) => void ends.unshift(end)));
    // The processes of one bench would take time from the next.
    await endAll(ends);
  }
}

async function endAll(ends: (() => Promise<void>)[]): Promise<void> {
  for (const end of ends.splice(0)) await end();
}

const CONNECTIONS = 16;

/** The engines alone, each in its own process, over subgraphs in the same process. */
async function benchEngines(pace: GraphPace, onEnd: OnEnd): Promise<string> {
  const overMarket = await openEngines("", onEnd);
  const market = await compete("in process", MARKET_OPERATIONS, overMarket, pace);
  const places = await openProduct(onEnd);
  const overProduct = await openEngines(JSON.stringify(places), onEnd);
  const product = await compete("in process, answers recorded", PRODUCT_OPERATIONS, overProduct, pace);
  return `${market}\n${product}`;
}

async function openEngines(places: string, onEnd: OnEnd): Promise<readonly Competitor[]> {
  return Promise.all(
    Object.keys(ENGINES).map(async (name) => {
      const child = await startPeer("engine", { ENGINE: name, PLACES: places });
      onEnd(() => child.stop());
      const ask = <T>(question: EngineQuestion) => askChild<T>(child, question);
      return {
        name,
        answer: (operation: string) => ask<string>({ operation }),
        runLoad: (operation: string, pressMs: number) => ask<LoadResult>({ operation, pressMs }),
      };
    }),
  );
}

/** The whole way: a client over HTTP, the gateway in its own process, and subgraphs over HTTP. */
async function benchGateways(pace: GraphPace, onEnd: OnEnd): Promise<string> {
  const gateways = await openGateways(Object.keys(GATEWAYS) as GatewayName[], onEnd);
  const competitors = [...gateways].map(([name, child]) => overHttp(name, child));
  return compete(`over HTTP, ${CONNECTIONS} connections`, MARKET_OPERATIONS, competitors, pace);
}

function overHttp(name: string, { origin, process: { pid = 0 } }: Child): Competitor {
  const target = { name, origin, path: "/graphql", bearers: [], headers: {} };
  const bodyOf = (query: string) => Buffer.from(JSON.stringify({ query }));
  return {
    name,
    async answer(operation) {
      const headers = { "content-type": "application/json" };
      const reply = await fetch(`${origin}/graphql`, { method: "POST", headers, body: bodyOf(operation) });
      return reply.text();
    },
    async runLoad(operation, durationMs) {
      const before = cpuOf(pid);
      const pressed = await runLoad(target, {
        body: bodyOf(operation),
        connections: CONNECTIONS,
        durationMs,
      });
      return { ...pressed, cpuMs: (cpuOf(pid) - before) / pressed.requests };
    },
  };
}

/** The throughput of a stream through our whole gateway, beside a minimal server. */
async function benchStreams(pace: GraphPace, onEnd: OnEnd): Promise<string> {
  const devnet = await openDevnet(onEnd);
  const servers: Record<string, Child> = {};
  for (const name of ["zerograph", "graphql-ws alone"]) {
    const env = { SERVER: name, ...devnet };
    const child = await startPeer("stream-server", env);
    onEnd(async () => killChild(child));
    servers[name] = child;
  }
  return compareStreams(servers, pace);
}
