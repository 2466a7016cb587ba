import { z } from "zod";
import { readFileId } from "../../storage/file-id.ts";
import { headerOf } from "../http/headers.ts";
import { defineRoute } from "../route.ts";
import { answerDownload, downloadAnswer, downloadQuery } from "./download.ts";

/** `GET /file`: the bytes of a file, by its root or by one of its submissions (SPEC 4.3). */
export const getFile = defineRoute({
  method: "GET",
  url: "/file",
  summary: "Download a file by its root or its txSeq",
  access: "public",
  errors: "storage",
  allowAnyOrigin: true,
  query: z.object({
    root: z.string().optional().meta({ pattern: "^0x[0-9a-fA-F]{64}$" }),
    txSeq: z.string().optional().meta({ pattern: "^(0|[1-9]\\d{0,19})$" }),
    ...downloadQuery,
  }),
  answer: downloadAnswer,
  async handle(app, call) {
    const id = readFileId(call.query);
    const isRange = headerOf(call.rawHeaders, "range") !== undefined;
    const download = await app.downloads.ofFile(id, isRange);
    return answerDownload(app, { ...call, isImmutable: "root" in id }, download);
  },
});
