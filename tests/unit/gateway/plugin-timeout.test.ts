import { globSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";

/** The options of each Fastify server in our sources, as text, by file. */
function serverOptions(): readonly (readonly [file: string, options: string])[] {
  return globSync("{src,gateway,subgraphs}/**/*.ts").flatMap((file) =>
    [...readFileSync(file, "utf8").matchAll(/[^\w.]Fastify\((.*?)\);\n/gs)].map(
      ([, options = ""]) => [file, options] as const,
    ),
  );
}

test("no server ends the start of its process because the machine is busy", () => {
  const servers = serverOptions();
  expect(servers.length).toBeGreaterThanOrEqual(3);
  for (const [file, options] of servers) expect(options, file).toContain("pluginTimeout: PLUGIN_TIMEOUT_MS");
});
