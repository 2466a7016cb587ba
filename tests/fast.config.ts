import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";
import base from "../vitest.config.ts";

const FOLDERS = ["unit", "accounts", "keys", "jobs", "operations", "events", "rest", "graph", "sim"];

/** Files of these folders that wait for timeouts, fill months, or try thousands of inputs: they take longer than the rest. */
const SLOW = [
  "accounts/expensive-reads",
  "accounts/retention",
  "accounts/usage-rollups",
  "keys/permission-table",
  "keys/stored-content",
  "jobs/image-jobs",
  "rest/metrics",
  "rest/refusals",
  "rest/refused-bodies",
  "rest/storage/large-rpc",
  "unit/deploy/deploy-files",
  "unit/inference/body-pool",
  "graph/account-streams",
  "graph/image-jobs",
  "graph/pages",
  "graph/router",
  "graph/engine/fuzz",
  "graph/gateway/streams",
  "graph/gateway/resume",
  "graph/policy/fuzz",
  "graph/policy/permissions",
  "graph/policy/policy-time",
];

/**
 * `npm run test:fast`, for the edit loop: rules, services, REST, the graph and the simulation with two seeds. The
 * product runs in the process of its test; no built product, no browser, no attack.
 */
export default defineConfig({
  ...base,
  root: fileURLToPath(new URL("..", import.meta.url)),
  test: {
    ...base.test,
    env: { SIM_SEEDS: "2" },
    projects: [
      {
        extends: true,
        test: {
          name: "fast",
          include: FOLDERS.map((folder) => `tests/${folder}/**/*.test.ts`),
          exclude: SLOW.map((file) => `tests/${file}.test.ts`),
        },
      },
    ],
  },
});
