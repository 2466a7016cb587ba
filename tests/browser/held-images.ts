import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { drawImage } from "../../src/devnet/provider/endpoints/image.ts";
import { startScripted } from "../support/inference/scripted-provider.ts";
import type { OnEnd } from "../support/servers/database.ts";
import { newFolder } from "../support/servers/process.ts";

/** A provider whose images are ready when a test says so, however slow the machine is. */
export type HeldImages = {
  /** The settings of a product that asks it. */
  readonly settings: Readonly<Record<string, string>>;
  readonly model: string;
  /** Holds every image from now on, until the returned function is called. */
  hold(): () => void;
};

/** Starts one. */
export async function startHeldImages(onEnd: OnEnd): Promise<HeldImages> {
  const model = "held-image";
  const provider = await startScripted();
  onEnd(() => provider.stop());
  const offer = { id: model, service_type: "text-to-image", pricing: { image: "2" } };
  const path = join(newFolder(onEnd), "providers.json");
  const providers = [{ name: "held", url: provider.url, models: [offer] }];
  await writeFile(path, JSON.stringify({ providers }));
  const image = drawImage("a pier", { width: 8, height: 8 }).toString("base64");
  return {
    settings: { PROVIDERS_FILE: path },
    model,
    hold() {
      const { promise: isReleased, resolve: release } = Promise.withResolvers<void>();
      provider.scripts.set(model, async (_call, response) => {
        await isReleased;
        response.writeHead(200, { "content-type": "application/json" });
        response.end(JSON.stringify({ created: 1, data: [{ b64_json: image }] }));
      });
      return release;
    },
  };
}
