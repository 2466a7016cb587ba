import { StartupError } from "../../src/kernel/errors.ts";
import { modules } from "../../subgraphs/modules.ts";
import { createSubgraphServer } from "../../subgraphs/serve.ts";
import { listenAt, requireFreePort } from "../listen.ts";
import { onKnownNetwork, openApp } from "./open-app.ts";
import { requireFolders } from "./required-folders.ts";
import { requireSettings } from "./required-settings.ts";
import type { Start } from "./start.ts";

/** A process that serves one subgraph to gateways and trusted routers. */
export async function startSubgraph(start: Start): Promise<void> {
  const { name, config, log, ends } = start;
  const module = modules.find((known) => known.name === name);
  if (!module)
    throw new StartupError(`There is no subgraph ${name}: ${modules.map((known) => known.name).join(", ")}.`);
  const { INTERNAL_SECRET: secret } = requireSettings("subgraph", config, ["INTERNAL_SECRET"]);
  const { HOST: host, SUBGRAPH_PORT: port } = config;
  const place = { host, port, setting: "SUBGRAPH_PORT", isShared: config.SHARE_PORT === "on" } as const;
  await requireFreePort(place);
  if (module.name === "storage") requireFolders(config, ["files"], log);
  const app = await openApp(await onKnownNetwork(config), start);
  await app.start({ worker: false, name: `subgraph:${module.name}` });
  const { INTERNAL_SECRET_ACCEPTED: accepted, ROUTER_SECRET: routerSecret } = config;
  const trust = { secrets: accepted === undefined ? [secret] : [secret, accepted], routerSecret };
  const server = await createSubgraphServer(app, module.build(), trust);
  ends.unshift(() => server.close());
  await listenAt(server, place);
  console.log(`subgraph ${name} ready at ${server.listeningOrigin}/graphql`);
}
