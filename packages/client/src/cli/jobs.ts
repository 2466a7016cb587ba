import { mkdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ZerographError } from "../core/errors.ts";
import { createClient } from "../index.ts";
import { ImageJobProgressDocument, type ImageJobProgressSubscription } from "../operations/graphql.ts";
import type { Command } from "./command.ts";
import { UsageError } from "./exit.ts";
import { readReadiness } from "./readiness.ts";
import { sendForJson } from "./rest.ts";
import { required } from "./settings.ts";

type Step = ImageJobProgressSubscription["imageJobProgress"];
/** What `GET /v1/async/jobs/{jobId}` answers. */
type Job = {
  readonly status: string;
  readonly errorMessage?: string;
  readonly data?: { readonly data?: readonly { readonly b64_json: string }[] };
};

/** Images may be of many megabytes. */
const IMAGES_MS = 600_000;

/**
 * `jobs watch`: prints each step of an image job, through any interruption, until it ends; `--out` stores its images.
 * Exit status 1 unless it is completed, and its images are stored where they are to be.
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
  if (last?.status !== "COMPLETED") return 1;
  if (out !== undefined) {
    const images = last.job?.images?.map(({ b64Json }) => b64Json);
    store(
      out,
      id,
      images?.length ? images : await fetchImages(`${settings.url}/v1/async/jobs`, id, credential),
    );
  }
  return 0;
};

/**
 * The images of a completed job that its last step came without: with many the graph does not send them, or it could
 * not read them. Throws why there are none.
 */
async function fetchImages(jobs: string, id: string, credential: string): Promise<readonly string[]> {
  const url = `${jobs}/${encodeURIComponent(id)}`;
  const { data, errorMessage } = await sendForJson<Job>(url, "status", { credential, timeoutMs: IMAGES_MS });
  const images = data?.data?.map(({ b64_json: base64 }) => base64) ?? [];
  if (images.length > 0) return images;
  throw new ZerographError("images_missing", errorMessage ?? "The gateway has no images of the job.");
}

function toLine({ at, step, providerAddress, fraction, errorMessage }: Step): string {
  const parts = [
    `${at}  ${step.toLowerCase().replaceAll("_", " ")}`,
    fraction != null && `${Math.round(fraction * 100)} %`,
    providerAddress,
    errorMessage,
  ];
  return parts.filter(Boolean).join("  ");
}

function store(folder: string, id: string, images: readonly string[]): void {
  mkdirSync(folder, { recursive: true });
  for (const [index, base64] of images.entries()) {
    const image = Buffer.from(base64, "base64");
    const path = join(folder, `${id}-${index + 1}.${suffixOf(image)}`);
    writeFileSync(path, image);
    console.error(`Stored ${path}`);
  }
}

/** The suffix of an image by its first bytes: models answer in different formats. */
function suffixOf(image: Buffer): string {
  const start = image.toString("latin1", 0, 12);
  if (start.startsWith("\xff\xd8\xff")) return "jpg";
  if (/^RIFF.{4}WEBP/s.test(start)) return "webp";
  if (/^GIF8[79]a/.test(start)) return "gif";
  if (/^.{4}ftypavi[fs]/s.test(start)) return "avif";
  return "png";
}
