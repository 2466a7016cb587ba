import { defineConfig } from "tsdown";

/** Every entry of `package.json`, with types; the code that entries share is in chunks. */
export default defineConfig({
  entry: {
    index: "src/index.ts",
    apollo: "src/apollo.ts",
    operations: "src/operations.ts",
    react: "src/react.ts",
    urql: "src/urql.ts",
    verify: "src/verify.ts",
  },
  platform: "browser",
  target: "es2022",
  dts: true,
  fixedExtension: false,
  logLevel: "warn",
  inputOptions: { checks: { pluginTimings: false, moduleLevelDirective: false } },
});
