import { z } from "zod";
import type { App } from "../../app.ts";
import { readCid } from "../../storage/file-id.ts";
import { type FolderEntry, readUrlPath } from "../../storage/folders/folder.ts";
import { envelope, envelopeOf } from "../envelope.ts";
import type { Answer } from "../http/answer.ts";
import { defineRoute, json, type RouteCall } from "../route.ts";
import { answerDownload, downloadAnswer, downloadQuery } from "./download.ts";

const kind = z.enum(["file", "directory", "symbolic"]);
const listing = z
  .array(
    z.strictObject({
      name: z.string(),
      type: kind,
      size: z
        .int()
        .min(1)
        .optional()
        .meta({ description: "The size of a file in bytes; absent if it is empty." }),
    }),
  )
  .nullable()
  .meta({ description: "The entries of a directory; null if it is empty." });
const link = z.strictObject({ name: z.string(), type: z.literal("symbolic"), link: z.string() });

const shared = {
  method: "GET",
  access: "public",
  errors: "storage",
  allowAnyOrigin: true,
  query: z.object(downloadQuery),
  answer: { json: envelopeOf(z.union([listing, link])), ...downloadAnswer },
} as const;

/** `GET /file/{root}`: the top level of a folder. */
export const getFolder = defineRoute({
  ...shared,
  url: "/file/:root",
  summary: "List the top level of a folder",
  handle: (app, call) => answerEntry(app, call, ""),
});

/** `GET /file/{root}/{path}`: the entry of a folder at a path (SPEC 4.3; facts: storage section 1.7). */
export const getFolderEntry = defineRoute({
  ...shared,
  url: "/file/:root/*",
  summary: "Download a file in a folder, or list one of its directories",
  handle: (app, call) => answerEntry(app, call, pathOf(call.target)),
});

type Query = z.output<(typeof shared)["query"]>;

async function answerEntry(app: App, call: RouteCall<Query, unknown>, path: string): Promise<Answer> {
  const id = readCid(call.params.root ?? "");
  const entry = await app.folders.find(id, readUrlPath(path));
  if (entry.kind === "directory") return json(envelope(listingOf([...entry.entries.values()])));
  if (entry.kind === "symbolic")
    return json(envelope({ name: entry.name, type: entry.kind, link: entry.link }));
  const download = await app.downloads.ofEntry(entry);
  return answerDownload(app, { ...call, isImmutable: "root" in id }, download);
}

function listingOf(entries: readonly FolderEntry[]): z.output<typeof listing> {
  if (entries.length === 0) return null;
  return entries.map((entry) => ({
    name: entry.name,
    type: entry.kind,
    ...(entry.kind === "file" && entry.sizeBytes > 0 && { size: entry.sizeBytes }),
  }));
}

/** The raw path after `/file/{root}/`: the server's own decoding does not distinguish `%2F` from a slash. */
function pathOf(target: string): string {
  const [path = ""] = target.split("?", 1);
  return path.split("/").slice(3).join("/");
}
