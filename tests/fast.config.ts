import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";
import base from "../vitest.config.ts";
import { filesOf } from "./support/run/sizes.ts";

const FOLDERS = ["unit", "accounts", "keys", "jobs", "operations", "events", "rest", "graph", "sim"];

/**
 * `npm run test:fast`, for the edit loop: rules, services, REST, the graph and the simulation with two seeds,
 * without medium and large files. The product runs in the process of its test; no built product, no browser, no attack.
 */
export default defineConfig({
  ...base,
  root: fileURLToPath(new URL("..", import.meta.url)),
  test: {
    ...base.test,
    env: { SIM_SEEDS: "4" },
    exclude: filesOf("medium", "large"),
    provide: { runs: "without large" },
    projects: [
      {
        extends: true,
        test: {
          name: "fast",
          include: FOLDERS.map((folder) => `tests/${folder}/**/*.test.ts`),
        },
      },
    ],
  },
});
