import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { brotliCompressSync, gzipSync } from "node:zlib";
import { defineConfig, type Plugin } from "vite";

const OUT = join(import.meta.dirname, "../../dist/dashboard");
/**
 * The most script that the first page may load before it is shown, in bytes as gzip sends them. With its chart and the
 * menus of the header, which are loaded after it, a browser test allows 250,000.
 */
const MAX_FIRST_SCRIPT_BYTES = 225_000;
/** The page that is shown first. */
const FIRST_PAGE = "/overview-page.tsx";
/** The gateway replaces it with the nonce of each response (`gateway/pages/dashboard.plugin.ts`). */
const NONCE = "%CSP_NONCE%";

/** Writes a compressed copy beside each text file, so that serving it costs nothing. */
const compressed: Plugin = {
  name: "compressed",
  closeBundle() {
    for (const entry of readdirSync(OUT, { recursive: true, withFileTypes: true })) {
      // The gateway writes a nonce into the page, which therefore has no copy.
      if (!entry.isFile() || !/\.(js|css|svg)$/.test(entry.name)) continue;
      const path = join(entry.parentPath, entry.name);
      const text = readFileSync(path);
      writeFileSync(`${path}.br`, brotliCompressSync(text));
      writeFileSync(`${path}.gz`, gzipSync(text, { level: 9 }));
    }
  },
};

/** Fails the build when the first page would load more script than it may. */
const scriptBudget: Plugin = {
  name: "script-budget",
  generateBundle(_, bundle) {
    const chunks = Object.values(bundle).filter((file) => file.type === "chunk");
    const byName = new Map(chunks.map((chunk) => [chunk.fileName, chunk]));
    const loaded = new Set<string>();
    const load = (name: string) => {
      if (loaded.has(name)) return;
      loaded.add(name);
      for (const next of byName.get(name)?.imports ?? []) load(next);
    };
    for (const chunk of chunks)
      if (chunk.isEntry || chunk.facadeModuleId?.endsWith(FIRST_PAGE)) load(chunk.fileName);
    let sizeBytes = 0;
    for (const name of loaded) sizeBytes += gzipSync(byName.get(name)?.code ?? "").length;
    if (sizeBytes > MAX_FIRST_SCRIPT_BYTES)
      this.error(`The first page loads ${sizeBytes} bytes of script; it may load ${MAX_FIRST_SCRIPT_BYTES}.`);
  },
};

/** Our client prints documents by the package that urql uses, instead of by a second one with the same function. */
const onePrinter: Plugin = {
  name: "one-printer",
  enforce: "pre",
  resolveId(id, importer) {
    const isOurs = id === "graphql" && importer?.includes("/packages/client/");
    return isOurs ? this.resolve("@0no-co/graphql.web", importer) : null;
  },
};

/**
 * Takes the call out of sonner that adds its styles as an element without a nonce, which the content security policy
 * refuses. The dashboard imports the same styles as a file.
 */
const sonnerStyles: Plugin = {
  name: "sonner-styles",
  transform(code, id) {
    if (!id.endsWith("/sonner/dist/index.mjs")) return;
    const without = code.replace(/^__insertCSS\(".*"\);?$/m, "");
    if (without === code) this.error("sonner no longer adds its styles as it did: see this plugin.");
    return { code: without, map: null };
  },
};

/** Builds the dashboard into `dist/dashboard`, which the gateway serves at `/dashboard/`. */
export default defineConfig({
  root: import.meta.dirname,
  base: "/dashboard/",
  html: { cspNonce: NONCE },
  plugins: [onePrinter, sonnerStyles, scriptBudget, compressed],
  build: {
    outDir: OUT,
    emptyOutDir: true,
    // The page's CSP allows no inline content.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    chunkSizeWarningLimit: 700,
    rolldownOptions: {
      onLog(level, log, report) {
        // "use client" of React libraries means nothing here.
        if (log.code !== "MODULE_LEVEL_DIRECTIVE") report(level, log);
      },
    },
  },
});
