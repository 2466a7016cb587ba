import { createRequire } from "node:module";
import { defineConfig } from "vitest/config";

/** Of tests/graph, what is about our gateway itself, or asks subgraphs or the schema: docs/routers.md says what only our gateway does. */
const OWN = [
  "cors",
  "examples",
  "http",
  "observed-graph",
  "protection",
  "resume",
  "routers",
  "scalars",
  "schema",
  "shared-streams",
  "streams",
  "subgraphs",
];

/**
 * `npm run test:peers`: our subgraphs behind the routers of others, and the suite of the graph as it is, through one of
 * them. Not part of `npm test`, as npm has to bring them first.
 */
export default defineConfig({
  root: new URL("../..", import.meta.url).pathname,
  resolve: { alias: [{ find: /^graphql$/, replacement: createRequire(import.meta.url).resolve("graphql") }] },
  test: {
    globalSetup: ["tests/global-setup.ts", "tests/peers/global-setup.ts"],
    testTimeout: 60_000,
    hookTimeout: 120_000,
    maxWorkers: 1,
    projects: [
      { extends: true, test: { name: "peers", include: ["tests/peers/*.test.ts"] } },
      {
        extends: true,
        test: {
          name: "graph",
          include: ["tests/graph/*.test.ts"],
          exclude: OWN.map((name) => `tests/graph/${name}.test.ts`),
          setupFiles: ["tests/peers/in-front.ts"],
        },
      },
    ],
  },
});
