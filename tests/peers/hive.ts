import { spawn } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { routerSchemas } from "../../scripts/router-schema.ts";
import type { OnEnd } from "../support/servers/database.ts";
import { freePort } from "../support/servers/postgres.ts";
import { newFolder } from "../support/servers/process.ts";
import { until } from "../support/until.ts";

/** Hive Gateway's two ways to run a graph. */
export const HIVE_KINDS = { stitching: [], "router-runtime": ["--hive-router-runtime"] } as const;

type Subgraphs = { readonly urls: Readonly<Record<string, string>>; readonly routerSecret: string };

const START_MS = 60_000;

/**
 * Runs `hive-gateway` as a user would, with the configuration of docs/routers.md: over the committed
 * supergraph, whose addresses are overridden, or over the one that `npm run schema:router` writes. Returns
 * its origin.
 */
export async function startHive(
  kind: keyof typeof HIVE_KINDS,
  { urls, routerSecret }: Subgraphs,
  onEnd: OnEnd,
): Promise<string> {
  const folder = newFolder(onEnd);
  const config = join(folder, "gateway.config.mjs");
  const isCommitted = kind === "stitching";
  const supergraph = isCommitted ? "schema/supergraph.graphql" : join(folder, "supergraph.graphql");
  const places = Object.entries(urls).map(([name, url]) => [name, `${url}/graphql`] as const);
  if (!isCommitted)
    writeFileSync(supergraph, routerSchemas(Object.fromEntries(places)).get("supergraph.graphql") ?? "");
  writeFileSync(config, configure(isCommitted ? places : []));
  const port = await freePort();
  const args = ["supergraph", supergraph, "-c", config, "-h", "127.0.0.1", "-p", String(port)];
  const child = spawn(
    process.execPath,
    [resolve(".cache/peers/node_modules/@graphql-hive/gateway/dist/bin.js"), ...args, ...HIVE_KINDS[kind]],
    {
      env: {
        PATH: process.env.PATH,
        HOME: process.env.HOME,
        TMPDIR: process.env.TMPDIR,
        ROUTER_SECRET: routerSecret,
        LOG_LEVEL: "error",
      },
      stdio: ["ignore", "pipe", "pipe"],
    },
  );
  let output = "";
  for (const stream of [child.stdout, child.stderr])
    stream.on("data", (part: Buffer) => {
      output += part.toString();
    });
  const ended = once(child, "exit");
  onEnd(async () => {
    child.kill("SIGKILL");
    await ended;
  });
  const origin = `http://127.0.0.1:${port}`;
  await until(async () => {
    if (child.exitCode !== null) return true;
    return (await fetch(`${origin}/graphql?query={__typename}`)).ok;
  }, START_MS);
  if (child.exitCode !== null) throw new Error(`hive-gateway ended: ${output}`);
  return origin;
}

function configure(places: readonly (readonly [name: string, location: string])[]): string {
  const options = {
    subscriptions: {
      kind: "ws",
      options: {
        connectionParams: {
          authorization: "{context.headers.authorization}",
          "x-zerograph-router": "{env.ROUTER_SECRET}",
        },
      },
    },
  };
  const transportEntries = {
    "*": { options },
    ...Object.fromEntries(places.map(([name, location]) => [name, { location }])),
  };
  return `export const gatewayConfig = {
    propagateHeaders: {
      fromClientToSubgraphs: ({ context }) => ({
        authorization: context.headers.authorization,
        "x-zerograph-router": process.env.ROUTER_SECRET,
      }),
    },
    transportEntries: ${JSON.stringify(transportEntries)},
  };`;
}
