import { onKnownNetwork, openApp } from "./open-app.ts";
import { requireFolders } from "./required-folders.ts";
import { requireSettings } from "./required-settings.ts";
import type { Start } from "./start.ts";

/** A process that follows the chain, runs jobs and expires holds, and serves no requests. */
export async function startWorker(start: Start): Promise<void> {
  requireSettings("worker", start.config);
  requireFolders(start.config, ["files", "archives"], start.log);
  const app = await openApp(await onKnownNetwork(start.config), start);
  await app.start({ worker: true, name: "worker" });
  console.log("worker ready");
}
