import { QUERY_CLIENTS } from "../../support/clients/query-clients.ts";
import type { OnEnd } from "../../support/servers/database.ts";
import type { Child } from "../child.ts";
import { type Competitor, compete, type GraphPace } from "../graph-compete.ts";
import { openGateways } from "../graph-gateways.ts";
import { type LoadRequest, runRequests } from "../load.ts";
import { nestedDocument } from "../peers/graph/documents.ts";
import { cpuOf, peakMemoryOf, resetPeakMemory } from "../processes.ts";
import { type ClientOperation, recordRequests } from "../record-requests.ts";

/** What clients send in a round: again and again for its duration, or each request once. */
type ClientLoad = {
  readonly isOnce: boolean;
  requestsOf(round: number): readonly LoadRequest[];
};

const CONNECTIONS = 16;
/** The values of the variable: on average that of the nested query without variables. */
const FIRSTS = [1, 2, 3, 4, 5, 6, 7, 8, 9];
const NESTED = `query Nested($first: Int!) {
  topProducts(first: $first) {
    upc name price inStock
    reviews { id stars text author { id name country } product { upc name } }
  }
}`;
/** Our plans are cached for about 900 of these documents, and Hive's for 1,024. */
const FITTING = 800;
const TOO_MANY = 2_500;
/** The answers that are compared before a load. */
const COMPARED = 9;

/** Nested queries over HTTP as the official clients send them, through our gateway and Hive's router runtime. */
export async function benchClients(pace: GraphPace, onEnd: OnEnd): Promise<string> {
  const gateways = await openGateways(["zerograph", "hive gateway, router-runtime"], onEnd);
  for (const { process: child } of gateways.values()) resetPeakMemory(child.pid ?? 0);
  const competitors = [...gateways].map(([name, child]) => overHttp(name, child));
  const title = `over HTTP, ${CONNECTIONS} connections`;
  return compete(title, { ...(await variableLoads()), ...(await documentLoads(pace)) }, competitors, pace);
}

/** One document, whose variables differ from request to request. */
async function variableLoads(): Promise<Readonly<Record<string, ClientLoad>>> {
  const operations = FIRSTS.map((first) => ({ text: NESTED, variables: { first } }));
  const loads: Record<string, ClientLoad> = {};
  for (const name of ["Apollo Client", "urql", "Relay"] as const) {
    const requests = await recordRequests(QUERY_CLIENTS[name], operations);
    loads[`nested, with variables, as ${name} sends it`] = { isOnce: false, requestsOf: () => requests };
  }
  return loads;
}

/** Many documents, of Apollo Client. */
async function documentLoads({ newDocuments }: GraphPace): Promise<Readonly<Record<string, ClientLoad>>> {
  const operations = Array.from({ length: TOO_MANY }, (_, n): ClientOperation => {
    return { text: nestedDocument(n, FIRST_NAME), variables: { first: FIRSTS[n % FIRSTS.length] } };
  });
  const requests = await recordRequests(QUERY_CLIENTS["Apollo Client"], operations);
  const [fitting, seldom] = [requests.slice(0, FITTING), requests.slice(0, newDocuments)];
  return {
    [`nested, ${newDocuments} documents, each seen for the first time`]: {
      isOnce: true,
      requestsOf: (round) => seldom.map((request) => renamed(request, `Round${round}Page`)),
    },
    [`nested, ${FITTING} documents in turn, which fit into the caches of plans`]: {
      isOnce: false,
      requestsOf: () => fitting,
    },
    [`nested, ${TOO_MANY} documents in turn, which do not fit`]: {
      isOnce: false,
      requestsOf: () => requests,
    },
  };
}

/** Operations of another name are other documents for a gateway. */
const FIRST_NAME = "Page";

function renamed(request: LoadRequest, name: string): LoadRequest {
  const body = request.body && Buffer.from(request.body.toString().replaceAll(FIRST_NAME, name));
  return { ...request, body };
}

function overHttp(name: string, { origin, process: { pid = 0 } }: Child): Competitor<ClientLoad> {
  return {
    name,
    async answer({ requestsOf }) {
      const answers: unknown[] = [];
      for (const { path, ...request } of requestsOf(0).slice(0, COMPARED)) {
        const reply = await fetch(origin + path, request);
        const { data, errors } = (await reply.json()) as { data?: unknown; errors?: unknown };
        if (!data || errors) return JSON.stringify({ errors });
        answers.push(data);
      }
      return JSON.stringify({ data: answers });
    },
    async runLoad({ requestsOf, isOnce }, durationMs, round) {
      const requests = requestsOf(round);
      const cpuBefore = cpuOf(pid);
      const endMs = performance.now() + durationMs;
      let sent = 0;
      const measured = await runRequests({ name, origin }, CONNECTIONS, () => {
        if (isOnce) return requests[sent++];
        return performance.now() < endMs ? requests[sent++ % requests.length] : undefined;
      });
      const cpuMs = (cpuOf(pid) - cpuBefore) / measured.requests;
      return { ...measured, cpuMs, peakMiB: peakMemoryOf(pid) };
    },
  };
}
