import { z } from "zod";
import type { App } from "../../app.ts";
import { AppError } from "../../kernel/errors.ts";
import type { Bytes, Download } from "../../storage/downloads/downloads.service.ts";
import { fileFailure } from "../../storage/file-failures.ts";
import type { Answer } from "../http/answer.ts";
import { headerOf, listedHeaders } from "../http/headers.ts";
import { isKnown, isMatched, rangeHolds, readHttpDate, readRange } from "./byte-range.ts";
import { attachment } from "./content-disposition.ts";
import { newBoundary, ProvenParts } from "./proven-parts.ts";

const flag = z.enum(["true", "false"]).optional();

/** The query parameters of every download, besides the file. */
export const downloadQuery = {
  name: z.string().max(1_024).optional(),
  withProof: flag.meta({ description: "Whether each segment comes with its merkle proof, as multipart." }),
  proof: flag.meta({ description: "The same as `withProof`." }),
};

const MEDIA = Object.fromEntries(
  [
    "application/octet-stream",
    "text/plain",
    "image/png",
    "image/jpeg",
    "image/gif",
    "image/webp",
    "image/avif",
    "audio/wave",
    "audio/mpeg",
    "audio/flac",
    "application/ogg",
    "video/mp4",
    "video/webm",
    "application/pdf",
    "application/zip",
    "application/x-gzip",
    "application/wasm",
  ].map((type) => [type, z.string().meta({ format: "binary" })]),
);
const multipart = z.string().meta({ format: "binary", description: "Segments with their proofs." });

/** The media types of downloads, for OpenAPI. */
export const downloadAnswer = {
  media: { ...MEDIA, "multipart/mixed": multipart },
  partialMedia: { ...MEDIA, "multipart/byteranges": multipart },
} as const;

type DownloadRequest = {
  readonly isHead: boolean;
  readonly rawHeaders: readonly string[];
  readonly query: {
    readonly name?: string | undefined;
    readonly withProof?: string | undefined;
    readonly proof?: string | undefined;
  };
  /** Whether the URL always means the same bytes: by a root, not by a txSeq, which a reorg may reassign. */
  readonly isImmutable: boolean;
};

/** Untrusted bytes on our origin: they are downloaded, not rendered, and nothing in them runs. */
const HARMLESS = {
  "x-content-type-options": "nosniff",
  "content-security-policy": "sandbox allow-downloads; default-src 'none'",
  "cross-origin-resource-policy": "cross-origin",
} as const;

const IMMUTABLE = "public, max-age=31536000, immutable";
const REVALIDATE = "public, no-cache";

/** Answers a download request: the whole file, a range, only the headers, or 304 when the client's copy is current. */
export async function answerDownload(
  app: App,
  request: DownloadRequest,
  download: Download,
): Promise<Answer> {
  await requireUnchanged(app, request, download);
  if (request.query.withProof === "true" || request.query.proof === "true")
    return answerProven(app, request, download);
  const { tag, sizeBytes } = download;
  const etag = `"${tag}"`;
  const header = (name: string) => headerOf(request.rawHeaders, name);
  const common = { ...headersOf(request, download), etag, "accept-ranges": "bytes" };
  if (isKnown(listedHeaders(request.rawHeaders, "if-none-match"), etag))
    return { kind: "file", status: 304, headers: common, body: undefined };
  const holds = !request.isHead && rangeHolds(header("if-range"), etag);
  const range = rangeOf(holds ? header("range") : undefined, sizeBytes);
  if (!range) requireWhole(download);
  const { start, end } = range ?? { start: 0, end: sizeBytes };
  const headers = {
    ...common,
    "content-type": await app.downloads.mediaType(download),
    "content-length": String(end - start),
    ...(range && { "content-range": contentRange(range, sizeBytes) }),
  };
  const body = request.isHead || end === start ? undefined : app.downloads.stream(download, { start, end });
  return { kind: "file", status: range ? 206 : 200, headers, body };
}

/**
 * Throws `precondition_failed` when the file is not the one that `If-Match` names, or was first seen on the chain after
 * `If-Unmodified-Since`. A file that was not seen there, or that is made of several files, has no date.
 */
async function requireUnchanged(
  app: App,
  { rawHeaders }: DownloadRequest,
  { tag, parts }: Download,
): Promise<void> {
  const ifMatch = listedHeaders(rawHeaders, "if-match");
  if (ifMatch !== undefined) {
    if (isMatched(ifMatch, `"${tag}"`)) return;
    throw new AppError("precondition_failed", "The file is a different one.", { param: "If-Match" });
  }
  const limit = readHttpDate(headerOf(rawHeaders, "if-unmodified-since") ?? "");
  const [only, ...others] = parts;
  if (!limit || !only || others.length > 0) return;
  const submission = await app.submissions.find(only.txSeq);
  if (submission && toSeconds(submission.seenAt) > toSeconds(limit))
    throw new AppError("precondition_failed", "The file is newer.", { param: "If-Unmodified-Since" });
}

/** HTTP dates are whole seconds. */
function toSeconds(date: Date): number {
  return Math.floor(date.getTime() / 1_000);
}

/**
 * Answers with every requested segment as one part, whole, with its proof in the part's headers, so that a client can
 * verify each part against the root as it arrives. A `Range` is widened to whole segments.
 */
function answerProven(app: App, request: DownloadRequest, download: Download): Answer {
  const { sizeBytes, tag } = download;
  const holds = !request.isHead && rangeHolds(headerOf(request.rawHeaders, "if-range"), `"${tag}"`);
  const range = rangeOf(holds ? headerOf(request.rawHeaders, "range") : undefined, sizeBytes);
  if (!range) requireWhole(download);
  const boundary = newBoundary();
  const headers = {
    ...headersOf(request, download),
    // The parts never change, but the boundary does with every response.
    "cache-control": "no-store",
    "accept-ranges": "bytes",
    "content-type": `multipart/${range ? "byteranges" : "mixed"}; boundary=${boundary}`,
  };
  const segments = request.isHead
    ? undefined
    : app.downloads.proven(download, range ?? { start: 0, end: sizeBytes });
  const body = segments && new ProvenParts(segments, { boundary, sizeBytes });
  return { kind: "file", status: range ? 206 : 200, headers, body };
}

function headersOf(
  { query, isImmutable }: DownloadRequest,
  { name, tag, parts }: Download,
): Record<string, string> {
  const [only, ...others] = parts;
  return {
    ...HARMLESS,
    "content-disposition": attachment(query.name ?? name ?? tag, tag),
    "cache-control": isImmutable ? IMMUTABLE : REVALIDATE,
    // With several files, each part of a proven download names its own root.
    ...(only && others.length === 0 && { "x-storage-root": only.root }),
  };
}

/** A file that lacks segments is only served by ranges. Throws `file_not_finalized`. */
function requireWhole({ parts }: Download): void {
  if (parts.every(({ finalized }) => finalized)) return;
  throw fileFailure("file_not_finalized");
}

/** Undefined for the whole file. Throws `range_not_satisfiable`. */
function rangeOf(header: string | undefined, sizeBytes: number): Bytes | undefined {
  const range = readRange(header, sizeBytes);
  if (range.kind === "unsatisfiable")
    throw new AppError("range_not_satisfiable", `The file has ${sizeBytes} bytes.`, {
      param: "Range",
      headers: { "content-range": `bytes */${sizeBytes}` },
    });
  return range.kind === "part" ? range : undefined;
}

function contentRange({ start, end }: Bytes, sizeBytes: number): string {
  return `bytes ${start}-${end - 1}/${sizeBytes}`;
}
