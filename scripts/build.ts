import { globSync, rmSync } from "node:fs";
import { join } from "node:path";
import { bundle } from "./bundle.ts";

/** Builds the product into `dist`. The dashboard there is built when packages are installed. */
const OUT = "dist";
const ENTRIES = [
  "gateway/main.ts",
  ...globSync("gateway/cli/*.ts"),
  ...globSync("src/**/*-worker.ts"),
  "gateway/federation/planner/planner-child.ts",
];

for (const part of ["chunks", "gateway", "schema", "src", "subgraphs"])
  rmSync(join(OUT, part), { recursive: true, force: true });
await bundle(ENTRIES, OUT);
