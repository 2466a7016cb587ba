import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { setImmediate as nextTurn } from "node:timers/promises";
import { buildSubgraphSchema, type GraphQLResolverMap } from "@apollo/subgraph";
import { parse } from "graphql";
import { useServer } from "graphql-ws/use/ws";
import { WebSocketServer } from "ws";
import { createLocalExecutor } from "../../../../gateway/federation/executor.local.ts";
import { composeSupergraph } from "../../../../scripts/compose.ts";
import { PushIterator } from "../../../../src/kernel/async/push-iterator.ts";
import { FEDERATION_LINK } from "../../../../subgraphs/shared/schema/build-subgraph.ts";
import { answerParent } from "./dialogue.ts";
import { openDoor } from "./door.ts";

/**
 * A stream of ticks to every subscriber: through our whole gateway, or by graphql-ws and graphql-js alone.
 */
const sdl = `${FEDERATION_LINK}
  type Query { now: Int! }
  type Subscription { ticked: Tick! @tag(name: "live") }
  type Tick { n: Int! text: String! at: String! }
`;
const readers = new Set<PushIterator<object>>();
const resolvers = {
  Query: { now: () => 0 },
  Subscription: {
    ticked: {
      subscribe() {
        const reader = new PushIterator<object>(() => readers.delete(reader));
        readers.add(reader);
        return reader;
      },
      resolve: (tick: object) => tick,
    },
  },
};
const schema = buildSubgraphSchema([{ typeDefs: parse(sdl), resolvers: resolvers as GraphQLResolverMap }]);

answerParent(async ({ publish }: { readonly publish: number }) => {
  for (let n = 0; n < publish; n++) {
    const tick = { n, text: "so much as an event says", at: new Date().toISOString() };
    for (const reader of [...readers]) reader.push(tick);
    await nextTurn();
  }
  return readers.size;
});

const origin = process.env.SERVER === "zerograph" ? await openOurs() : await openBare();
console.log(`ready at ${origin}`);

async function openOurs(): Promise<string> {
  const executor = createLocalExecutor({ schema, contextOf: () => ({}) });
  return openDoor(composeSupergraph([{ name: "ticks", sdl }]), { ticks: executor });
}

async function openBare(): Promise<string> {
  const server = createServer().listen(0, "127.0.0.1");
  useServer({ schema }, new WebSocketServer({ server, path: "/graphql" }));
  await once(server, "listening");
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
