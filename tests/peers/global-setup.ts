import type { TestProject } from "vitest/node";
import { installPeers, ROUTERS } from "./install.ts";

declare module "vitest" {
  export interface ProvidedContext {
    /** Whether the peer routers are installed. */
    readonly hasPeers: boolean;
  }
}

/** Installs the peer routers, or says in one clear line that their tests are skipped. */
export default async function setup(project: TestProject): Promise<void> {
  project.provide("hasPeers", await installPeers(ROUTERS));
}
