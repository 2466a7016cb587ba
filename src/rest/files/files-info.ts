import { z } from "zod";
import { AppError } from "../../kernel/errors.ts";
import { readCid } from "../../storage/file-id.ts";
import type { FileId } from "../../storage/node/storage-node.ts";
import { envelope, envelopeOf } from "../envelope.ts";
import { FILE_INFO, toFileInfo } from "../file/file-info-shape.ts";
import { defineRoute, json } from "../route.ts";

const MAX_FILES = 100;

/** `GET /files/info?cid=&cid=`: the metadata of several files, in the order of their `cid`s. */
export const listFileInfos = defineRoute({
  method: "GET",
  url: "/files/info",
  summary: "Retrieve the metadata of up to 100 files",
  access: "public",
  errors: "storage",
  allowAnyOrigin: true,
  query: z.object({
    cid: z.union([z.string().transform((one) => [one]), z.array(z.string())]).optional(),
  }),
  answer: {
    json: envelopeOf(
      z.array(
        z.union([
          FILE_INFO.nullable().meta({ description: "Null for an unknown file." }),
          z.string().meta({ description: "Why this `cid` is invalid." }),
        ]),
      ),
    ),
  },
  async handle(app, { query }) {
    const cids = query.cid ?? [];
    if (cids.length === 0) throw new AppError("invalid_parameter", "No cid specified", { param: "cid" });
    if (cids.length > MAX_FILES)
      throw new AppError("invalid_parameter", `Too many cid specified, exceeded ${MAX_FILES}`, {
        param: "cid",
      });
    const named = cids.map(readOrExplain);
    const files = await app.files.find(named.filter((id) => typeof id !== "string"));
    const found = files.values();
    return json(
      envelope(
        named.map((id) => {
          if (typeof id === "string") return id;
          const file = found.next().value;
          return file ? toFileInfo(file) : null;
        }),
      ),
    );
  },
});

/** The file that a `cid` names, or why it is malformed: a malformed one does not fail the others. */
function readOrExplain(cid: string): FileId | string {
  try {
    return readCid(cid.trim());
  } catch (error) {
    if (error instanceof AppError) return error.message;
    throw error;
  }
}
