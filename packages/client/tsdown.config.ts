import { defineConfig } from "tsdown";

const shared = {
  target: "es2022",
  fixedExtension: false,
  logLevel: "warn",
  inputOptions: { checks: { pluginTimings: false } },
} as const;

/** Every entry of `package.json`, with types, and the command; the code that entries share is in chunks. */
export default defineConfig([
  {
    ...shared,
    entry: {
      index: "src/index.ts",
      apollo: "src/apollo.ts",
      operations: "src/operations.ts",
      react: "src/react.ts",
      relay: "src/relay.ts",
      urql: "src/urql.ts",
      verify: "src/verify.ts",
    },
    platform: "browser",
    dts: true,
    // React's server components then take the hooks for what they are.
    outputOptions: { banner: ({ fileName }) => (fileName === "react.js" ? '"use client";' : "") },
  },
  { ...shared, entry: { cli: "src/cli.ts" }, outDir: "dist/bin", platform: "node", dts: false },
]);
