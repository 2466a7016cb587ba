import type { TestProject } from "vitest/node";
import { installPeers, ROUTERS } from "./install.ts";

declare module "vitest" {
  export interface ProvidedContext {
    /** Whether the routers of others are installed. */
    readonly hasPeers: boolean;
  }
}

/** Brings the routers of others, or says in one loud line that their tests are skipped. */
export default async function setup(project: TestProject): Promise<void> {
  project.provide("hasPeers", await installPeers(ROUTERS));
}
