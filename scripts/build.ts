import { cpSync, globSync, rmSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { type Plugin, rolldown } from "rolldown";

/**
 * Builds the product into `dist`: programs and threads at the paths of their sources, and between them chunks that
 * contain their packages as well, since a start that loads thousands of files spends a quarter of its time on that.
 */
const OUT = resolve("dist");
const ENTRIES = [
  "gateway/main.ts",
  ...globSync("gateway/cli/*.ts"),
  ...globSync("src/**/*-worker.ts"),
  "gateway/federation/planner/planner-child.ts",
];

/** Packages that stay in `node_modules`. */
const EXTERNAL = [
  // They find files of their own: WebAssembly, a native library, threads and pages.
  /^@electric-sql\/pglite/,
  "@graphql-hive/router-query-planner",
  /^pino/,
  "@fastify/swagger-ui",
  // Tools that trace statements replace its methods.
  "pg",
  // type-graphql loads it if there is one.
  "class-validator",
];

/**
 * Files named relative to a source, such as the schema, are found from the place that the source would have in `dist`,
 * whichever chunk has its code.
 */
const fromOwnPlace: Plugin = {
  name: "from-own-place",
  transform: {
    filter: { id: { include: /\.ts$/, exclude: /node_modules/ }, code: /import\.meta\.url/ },
    handler: (code, id) =>
      code.replaceAll(
        /(new URL\([^()]+, )import\.meta\.url\)/g,
        `$1new URL("place:${relative(".", id)}", import.meta.url))`,
      ),
  },
  renderChunk: {
    filter: { code: /"place:/ },
    handler: (code, { fileName }) =>
      code.replaceAll(/"place:([^"]+)"/g, (_, path: string) =>
        JSON.stringify(relative(dirname(fileName), path)),
      ),
  },
};

// Not the dashboard, which is in `dist` as well and built when packages are installed.
for (const part of ["chunks", "gateway", "schema", "src", "subgraphs"])
  rmSync(join(OUT, part), { recursive: true, force: true });
const bundle = await rolldown({
  input: Object.fromEntries(ENTRIES.map((path) => [path.replace(/\.ts$/, ""), path])),
  platform: "node",
  tsconfig: "tsconfig.json",
  external: EXTERNAL,
  plugins: [fromOwnPlace],
  onLog(level, log, handle) {
    // A package's, before its first statement, and without an effect.
    if (log.code === "MODULE_LEVEL_DIRECTIVE") return;
    handle(level === "warn" ? "error" : level, log);
  },
});
await bundle.write({
  dir: OUT,
  format: "esm",
  entryFileNames: "[name].js",
  chunkFileNames: "chunks/[name]-[hash].js",
  // Errors and entities are known by the names of their classes.
  keepNames: true,
});
cpSync("schema", join(OUT, "schema"), { recursive: true });
// Their hash identifies the template of the embedded database.
cpSync("src/db/migrations", join(OUT, "src/db/migrations"), { recursive: true });
