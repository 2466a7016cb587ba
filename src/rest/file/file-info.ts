import { readCid } from "../../storage/file-id.ts";
import { envelope, envelopeOf } from "../envelope.ts";
import { defineRoute, json } from "../route.ts";
import { FILE_INFO, toFileInfo } from "./file-info-shape.ts";

/** `GET /file/info/{cid}`: the metadata of a file; `cid` is a root or a txSeq (SPEC 4.3). */
export const getFileInfo = defineRoute({
  method: "GET",
  url: "/file/info/:cid",
  summary: "Retrieve the metadata of a file",
  access: "public",
  errors: "storage",
  allowAnyOrigin: true,
  answer: { json: envelopeOf(FILE_INFO) },
  async handle(app, { params }) {
    return json(envelope(toFileInfo(await app.files.get(readCid(params.cid?.trim() ?? "")))));
  },
});
