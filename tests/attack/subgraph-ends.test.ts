// @module-tag large
import { afterEach, expect, test } from "vitest";
import { modules } from "../../subgraphs/modules.ts";
import { createSubgraphServer } from "../../subgraphs/serve.ts";
import { ROUTER_HEADER } from "../../subgraphs/shared/caller.ts";
import { repeatedTurnMs } from "../support/attack/event-loop.ts";
import { openCrowd } from "../support/attack/socket-crowd.ts";
import { seedAccount } from "../support/seed.ts";
import { ROUTER_SECRET } from "../support/servers/remote-gateway.ts";
import { useStack } from "../support/stack.ts";
import { until } from "../support/until.ts";

const MAX_TURN_MS = 60;
const SOCKETS = 800;
const PER_SOCKET = 5;

const stack = useStack({}, "folder");
const ends: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

test("a subgraph that ends lets thousands of subscriptions go in short turns", async () => {
  const { app } = stack();
  const { account } = await seedAccount(app.database, 1n);
  const { secret } = await app.managementKeys.create(account, "crowd", ["keys:read"]);
  const queries = Array.from({ length: PER_SOCKET }, (_, n) => `subscription S${n} { keyChanged { id } }`);
  const member = {
    ...{ authorization: `Bearer ${secret}`, queries },
    parameters: { [ROUTER_HEADER]: ROUTER_SECRET },
  };
  const accounts = modules.find(({ name }) => name === "accounts");
  const prepare = async () => {
    if (!accounts) throw new Error("there is no such subgraph");
    const trust = { secrets: ["a".repeat(32)], routerSecret: ROUTER_SECRET };
    const server = await createSubgraphServer(app, accounts.build(), trust);
    const origin = await server.listen({ host: "127.0.0.1", port: 0 });
    const crowd = openCrowd(
      origin,
      Array.from({ length: SOCKETS }, () => member),
    );
    ends.push(() => crowd.close());
    await until(() => app.events.openStreams === SOCKETS * PER_SOCKET);
    return { server, crowd };
  };
  const turnMs = await repeatedTurnMs(
    MAX_TURN_MS,
    async ({ server, crowd }) => {
      await server.close();
      await until(async () => (await crowd.count()).closed === SOCKETS && app.events.openStreams === 0);
    },
    prepare,
  );
  expect(turnMs).toBeLessThan(MAX_TURN_MS);
});
