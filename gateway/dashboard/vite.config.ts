import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { brotliCompressSync, gzipSync } from "node:zlib";
import { defineConfig, type Plugin } from "vite";

const OUT = join(import.meta.dirname, "../../dist/dashboard");

/** Writes a compressed copy beside each text file, so that serving it costs nothing. */
const compressed: Plugin = {
  name: "compressed",
  closeBundle() {
    for (const entry of readdirSync(OUT, { recursive: true, withFileTypes: true })) {
      if (!entry.isFile() || !/\.(js|css|html|svg)$/.test(entry.name)) continue;
      const path = join(entry.parentPath, entry.name);
      const text = readFileSync(path);
      writeFileSync(`${path}.br`, brotliCompressSync(text));
      writeFileSync(`${path}.gz`, gzipSync(text, { level: 9 }));
    }
  },
};

/** Builds the dashboard into `dist/dashboard`, which the gateway serves at `/dashboard/`. */
export default defineConfig({
  root: import.meta.dirname,
  base: "/dashboard/",
  plugins: [compressed],
  build: {
    outDir: OUT,
    emptyOutDir: true,
    // The page's CSP allows no inline content.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
  },
});
