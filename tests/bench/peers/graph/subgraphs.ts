import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { graphql } from "graphql";
import { federation1Sdl, marketSubgraphs } from "./market.ts";

/**
 * The market's subgraphs over HTTP. Each answer is computed once per body and then sent again from memory, so
 * that on two cores the gateways are measured and not what is behind them. `/fed1/NAME` returns its schema in
 * the dialect of Federation 1, which is all that Mercurius' gateway reads.
 */
const subgraphs = new Map(marketSubgraphs().map((subgraph) => [subgraph.name, subgraph]));
const answers = new Map<string, string>();

const server = createServer(async (request, response) => {
  const parts: Buffer[] = [];
  for await (const part of request) parts.push(part as Buffer);
  const body = Buffer.concat(parts).toString();
  const key = `${request.url} ${body}`;
  const answer = answers.get(key) ?? (await make(request.url ?? "", body));
  answers.set(key, answer);
  response.writeHead(200, { "content-type": "application/json" }).end(answer);
}).listen(0, "127.0.0.1");

async function make(url: string, body: string): Promise<string> {
  const [name = "", dialect] = url.split("/").reverse();
  const schema = subgraphs.get(name)?.schema;
  if (!schema) throw new Error(`there is no subgraph ${name}`);
  const { query, variables } = JSON.parse(body);
  if (dialect === "fed1" && query.includes("sdl"))
    return JSON.stringify({ data: { _service: { sdl: federation1Sdl(name) } } });
  return JSON.stringify(await graphql({ schema, source: query, variableValues: variables }));
}

await once(server, "listening");
console.log(`ready at http://127.0.0.1:${(server.address() as AddressInfo).port}`);
