import { GATEWAYS, type GatewayName } from "./gateways.ts";

/** One gateway in its own process, in front of the market's subgraphs. It is given the composed supergraph. */
const { GATEWAY = "", SUBGRAPHS = "{}", SUPERGRAPH = "" } = process.env;
const origin = await GATEWAYS[GATEWAY as GatewayName](SUPERGRAPH, JSON.parse(SUBGRAPHS));
console.log(`ready at ${new URL(origin).origin}`);
