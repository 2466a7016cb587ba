import { inject } from "vitest";
import { askThrough, expectRouter } from "../support/clients/graph-client.ts";
import { ROUTER_SECRET, startSubgraphs } from "../support/servers/remote-gateway.ts";
import { afterStart } from "../support/stack.ts";
import { startHive } from "./hive.ts";

/**
 * Puts Hive Gateway in front of every stack that a test of this project starts: all graph requests go through
 * it.
 */
if (inject("hasPeers")) {
  expectRouter();
  afterStart.push(async ({ app, origin }, onEnd) => {
    const urls = await startSubgraphs(app, (end) => onEnd(async () => void (await end())));
    askThrough(await startHive("stitching", { urls, routerSecret: ROUTER_SECRET }, onEnd), origin);
  });
}
