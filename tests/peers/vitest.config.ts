import { createRequire } from "node:module";
import { defineConfig } from "vitest/config";

/** `npm run test:peers`: the graph behind the routers of others. Not part of `npm test`, as npm has to bring them first. */
export default defineConfig({
  root: new URL("../..", import.meta.url).pathname,
  resolve: { alias: [{ find: /^graphql$/, replacement: createRequire(import.meta.url).resolve("graphql") }] },
  test: {
    include: ["tests/peers/**/*.test.ts"],
    globalSetup: ["tests/peers/global-setup.ts"],
    testTimeout: 60_000,
    hookTimeout: 120_000,
    maxWorkers: 1,
  },
});
