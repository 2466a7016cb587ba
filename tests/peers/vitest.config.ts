import { createRequire } from "node:module";
import { defineConfig } from "vitest/config";
import { SIZES } from "../support/run/sizes.ts";

/**
 * `npm run test:peers`: our subgraphs behind peer routers, and the unchanged graph tests through one of them.
 * Not part of `npm test`, as npm has to install them first.
 */
export default defineConfig({
  root: new URL("../..", import.meta.url).pathname,
  resolve: { alias: [{ find: /^graphql$/, replacement: createRequire(import.meta.url).resolve("graphql") }] },
  test: {
    tags: SIZES,
    globalSetup: ["tests/global-setup.ts", "tests/peers/global-setup.ts"],
    testTimeout: 240_000,
    hookTimeout: 120_000,
    maxWorkers: 1,
    projects: [
      { extends: true, test: { name: "peers", include: ["tests/peers/*.test.ts"] } },
      {
        extends: true,
        test: {
          name: "graph",
          // Not tests/graph/gateway, which tests our gateway itself: docs/routers.md lists what only it does.
          include: ["tests/graph/*.test.ts", "tests/graph/policy/*.test.ts"],
          setupFiles: ["tests/peers/in-front.ts"],
        },
      },
    ],
  },
});
