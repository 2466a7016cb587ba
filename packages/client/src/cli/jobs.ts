import { mkdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createClient } from "../index.ts";
import { ImageJobProgressDocument, type ImageJobProgressSubscription } from "../operations/graphql.ts";
import type { Command } from "./command.ts";
import { UsageError } from "./exit.ts";
import { readReadiness } from "./readiness.ts";
import { required } from "./settings.ts";

type Step = ImageJobProgressSubscription["imageJobProgress"];

/**
 * `jobs watch`: prints each step of an image job, through any interruption, until it ends; `--out` stores its images.
 * Exit status 1 unless it is completed.
 */
export const command: Command = async ({ words: [what, id, ...rest], options, settings, print }) => {
  if (what !== "watch" || !id || rest.length > 0)
    throw new UsageError("zerograph jobs watch <id> [--out <folder>]");
  const { out } = options;
  if (out !== undefined && statSync(out, { throwIfNoEntry: false })?.isDirectory() === false)
    throw new UsageError(`${out} is a file: name a folder for the images.`);
  const credential = required(
    settings.apiKey ?? settings.managementKey,
    "ZEROGRAPH_KEY",
    "the sk- key that created the job",
  );
  // A subscription would wait for a gateway for a day.
  await readReadiness(settings.url);
  const client = createClient({ url: settings.url, credential });
  const stop = client.onState((state) => {
    if (state === "reconnecting") console.error("The connection was lost; connecting again ...");
  });
  let last: Step | undefined;
  try {
    for await (const { data } of client.subscribe(ImageJobProgressDocument, { id })) {
      const step = data.imageJobProgress;
      if (step.sequence <= (last?.sequence ?? 0)) continue;
      last = step;
      const { job: _, ...shown } = step;
      print(shown, () => toLine(step));
    }
  } finally {
    stop();
    client.dispose();
  }
  if (out !== undefined) store(out, id, last?.job?.images ?? []);
  return last?.status === "COMPLETED" ? 0 : 1;
};

function toLine({ at, step, providerAddress, fraction, errorMessage }: Step): string {
  const parts = [
    `${at}  ${step.toLowerCase().replaceAll("_", " ")}`,
    fraction != null && `${Math.round(fraction * 100)} %`,
    providerAddress,
    errorMessage,
  ];
  return parts.filter(Boolean).join("  ");
}

function store(folder: string, id: string, images: readonly { readonly b64Json: string }[]): void {
  mkdirSync(folder, { recursive: true });
  for (const [index, { b64Json }] of images.entries()) {
    const path = join(folder, `${id}-${index + 1}.png`);
    writeFileSync(path, Buffer.from(b64Json, "base64"));
    console.error(`Stored ${path}`);
  }
}
