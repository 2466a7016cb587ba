import { createRequire } from "node:module";
import { defineConfig } from "vitest/config";

/** `npm run pictures`: makes the pictures and the recording of the dashboard in docs/, from the product itself. */
export default defineConfig({
  root: new URL("../..", import.meta.url).pathname,
  resolve: { alias: [{ find: /^graphql$/, replacement: createRequire(import.meta.url).resolve("graphql") }] },
  test: {
    globalSetup: ["tests/global-setup.ts", "tests/build-setup.ts"],
    testTimeout: 900_000,
    hookTimeout: 900_000,
    expect: { poll: { timeout: 300_000 } },
    maxWorkers: 1,
    include: ["tests/pictures/*.test.ts"],
  },
});
