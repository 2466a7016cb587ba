import { execFileSync } from "node:child_process";
import { globSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { bundle } from "./bundle.ts";

/** Builds the product into `dist`, and the dashboard if its sources are newer than what is there. */
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

const DASHBOARD = globSync(
  "{gateway/dashboard,packages/client/src,src/kernel/text,src/storage}/**/*.{css,html,ts,tsx}",
);
const built = statSync(join(OUT, "dashboard/index.html"), { throwIfNoEntry: false });
if (!built || DASHBOARD.some((file) => statSync(file).mtimeMs > built.mtimeMs))
  execFileSync("npm", ["run", "--silent", "build:dashboard"], { stdio: "inherit" });
