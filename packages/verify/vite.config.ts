import { join } from "node:path";
import { defineConfig, type UserConfig } from "vite";

const SOURCE = join(import.meta.dirname, "src");

/** One file each, without dependencies: `verify.js` for browsers and programs, and with `--mode node` the command. */
export default defineConfig(({ mode }): UserConfig => {
  const entry = mode === "node" ? "cli" : "verify";
  return {
    root: import.meta.dirname,
    ...(mode === "node" && { ssr: { noExternal: true, target: "node" } }),
    build: {
      outDir: join(import.meta.dirname, "dist"),
      emptyOutDir: false,
      target: "es2022",
      minify: true,
      ssr: mode === "node",
      ...(mode !== "node" && { lib: { entry: join(SOURCE, "verify.ts"), formats: ["es"] } }),
      rolldownOptions: {
        input: join(SOURCE, `${entry}.ts`),
        output: { entryFileNames: `${entry}.js`, codeSplitting: false },
      },
    },
  };
});
