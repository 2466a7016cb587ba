import { createRequire } from "node:module";
import { defineConfig } from "vitest/config";
import { SIZES } from "../support/run/sizes.ts";

/**
 * The tests of the mutated modules that need no database, Redis, chain or server of their own, as each mutant runs
 * those that reach it.
 */
export default defineConfig({
  resolve: { alias: [{ find: /^graphql$/, replacement: createRequire(import.meta.url).resolve("graphql") }] },
  test: {
    tags: SIZES,
    include: [
      "tests/unit/billing/*.test.ts",
      "tests/unit/inference/{chat-event-iterator,choice,inference,pricing,providers-file}.test.ts",
      "tests/unit/routing/*.test.ts",
      "tests/unit/keys/*.test.ts",
      "tests/unit/policy/*.test.ts",
      "tests/unit/jobs/*.test.ts",
      "tests/unit/storage/{merkle,submission,segment-check,segment-proof}.test.ts",
      "tests/unit/kernel/{amount,address-guard,public-addresses,kernel,push-iterator}.test.ts",
      "tests/unit/events/*.test.ts",
      "tests/unit/{job-state,event-cursors}.test.ts",
      "tests/graph/gateway/protection.test.ts",
      "tests/graph/policy/introspection-cost.test.ts",
      "tests/events/replayed-stream.test.ts",
      "tests/contracts/bus.test.ts",
    ],
    setupFiles: ["tests/mutation/setup.ts"],
    testTimeout: 10_000,
    isolate: false,
  },
});
