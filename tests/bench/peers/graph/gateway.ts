import { GATEWAYS, type GatewayName } from "./gateways.ts";
import { marketSupergraph } from "./market.ts";

/** One gateway in its own process, in front of the market's subgraphs. */
const { GATEWAY = "", SUBGRAPHS = "{}" } = process.env;
const urls: Readonly<Record<string, string>> = JSON.parse(SUBGRAPHS);
const origin = await GATEWAYS[GATEWAY as GatewayName](marketSupergraph(urls), urls);
console.log(`ready at ${new URL(origin).origin}`);
