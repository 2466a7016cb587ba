import { cpSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join, relative } from "node:path";
import { type Plugin, rolldown } from "rolldown";

const require = createRequire(import.meta.url);

/** Files that the product reads. */
const READ_FILES = [
  "schema",
  // Their hash identifies the template of the embedded database.
  "src/db/migrations",
  "src/inference/billing/tokenizer/o200k.bin",
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

/**
 * Bundles the ES modules of graphql. Node resolves it to CommonJS files, and every use of their exports by a module would
 * go through a getter.
 */
const graphqlAsModules: Plugin = {
  name: "graphql-as-modules",
  resolveId: {
    filter: { id: /^graphql(\/|$)/ },
    handler(id) {
      const path = require.resolve(id).replace(/\.js$/, ".mjs");
      return { id: path, moduleSideEffects: false };
    },
  },
};

/**
 * V8 keeps the source of loaded modules, and Node gives it two bytes a character unless all are in ASCII: with escapes
 * instead, a process needs 13 MiB less.
 */
const inAscii: Plugin = {
  name: "in-ascii",
  generateBundle(_options, files) {
    for (const file of Object.values(files))
      if (file.type === "chunk") file.code = file.code.replaceAll(BEYOND_ASCII, escaped);
  },
};
/** A UTF-16 code unit. */
const BEYOND_ASCII = /[\u0080-\uffff]/g;
const escaped = (unit: string) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;

/**
 * Writes programs and threads into a folder, at the paths of their sources, and between them chunks that contain their
 * packages as well, since a start that loads thousands of files spends a quarter of its time on that. The files that
 * the product reads are copied.
 */
export async function bundle(entries: readonly string[], folder: string): Promise<void> {
  const bundled = await rolldown({
    input: Object.fromEntries(entries.map((path) => [path.replace(/\.ts$/, ""), path])),
    platform: "node",
    tsconfig: "tsconfig.json",
    external: EXTERNAL,
    plugins: [graphqlAsModules, fromOwnPlace, inAscii],
    onLog(level, log, handle) {
      // A package's, before its first statement, and without an effect.
      if (log.code === "MODULE_LEVEL_DIRECTIVE") return;
      handle(level === "warn" ? "error" : level, log);
    },
  });
  await bundled.write({
    dir: folder,
    format: "esm",
    entryFileNames: "[name].js",
    chunkFileNames: "chunks/[name]-[hash].js",
    // Errors and entities are known by the names of their classes.
    keepNames: true,
    comments: false,
  });
  for (const path of READ_FILES) cpSync(path, join(folder, path), { recursive: true });
}
