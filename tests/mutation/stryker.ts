import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { installPeers, type PeerPackages } from "../peers/install.ts";

/** A mutant after the run. Lines and columns are counted from 1. */
export type Mutant = {
  readonly fileName: string;
  readonly status: string;
  readonly mutatorName: string;
  readonly replacement: string;
  readonly location: { readonly start: Position; readonly end: Position };
};
type Position = { readonly line: number; readonly column: number };

/**
 * Stryker is installed outside `node_modules`, as it takes 60 MB that nothing else needs. Its vitest is the product's:
 * Node finds that one in the folders above, so npm must not install another for the peer dependency.
 */
const STRYKER: PeerPackages = {
  what: "Stryker",
  manifest: resolve("tests/mutation/packages"),
  folder: resolve(".cache/mutation"),
  flags: ["--legacy-peer-deps"],
};

type Core = {
  readonly Stryker: new (options: object) => { runMutationTest(): Promise<readonly Mutant[]> };
};

/** Mutates these files and runs the tests of `vitest.config.ts` on each mutant. Throws if Stryker cannot be installed. */
export async function mutate(files: readonly string[]): Promise<readonly Mutant[]> {
  if (!(await installPeers(STRYKER))) throw new Error("Stryker is not installed");
  const core = resolve(STRYKER.folder, "node_modules/@stryker-mutator/core/dist/src/index.js");
  const { Stryker } = (await import(pathToFileURL(core).href)) as Core;
  return new Stryker(optionsFor(files)).runMutationTest();
}

function optionsFor(files: readonly string[]): object {
  return {
    mutate: files,
    testRunner: "vitest",
    plugins: ["@stryker-mutator/vitest-runner"],
    // Of the tests, each mutant runs those whose imports reach its file and that executed its line.
    vitest: { configFile: "tests/mutation/vitest.config.ts", related: true },
    coverageAnalysis: "perTest",
    concurrency: 2,
    // An endless loop is found by the count of its turns; the time limit is for what waits, on a busy machine.
    timeoutMS: 8_000,
    timeoutFactor: 2,
    dryRunTimeoutMinutes: 30,
    // Vitest removes the types and does not check them.
    disableTypeChecks: false,
    checkers: [],
    tempDirName: ".cache/mutation/sandbox",
    ignorePatterns: [".cache", ".data", "dist", "docs", "examples", "gateway/dashboard"],
    reporters: ["clear-text", "progress-append-only", "json"],
    clearTextReporter: {
      allowColor: false,
      allowEmojis: false,
      logTests: false,
      reportTests: false,
      reportMutants: false,
    },
    jsonReporter: { fileName: ".cache/mutation/report.json" },
    allowConsoleColors: false,
    thresholds: { high: 100, low: 0, break: null },
  };
}
