import { z } from "zod";
import type { FileUpload } from "../../client-files/client-files.service.ts";
import { readFileId, shownFileId } from "../../client-files/file-id.ts";
import { checkInput } from "../../kernel/check.ts";
import { AppError } from "../../kernel/errors.ts";
import { permitSpender } from "../../keys/auth/permissions.ts";
import { attachment } from "../file/content-disposition.ts";
import { integerParameter, optionalIntegerParameter } from "../integer-parameter.ts";
import { defineRoute, json } from "../route.ts";
import { FILE, pageOf, viewFile, viewPage } from "./batches/file-shape.ts";

/** The most that one page has, whatever limit is requested: clients read the next one after its last id. */
const MAX_PAGE = 100;
/** What a form has besides its file. */
const FORM_BYTES = 65_536;
/** Larger than any file; the service has the limit. */
const MAX_BODY_BYTES = 512 * 1_048_576 + FORM_BYTES;
const READ_AHEAD_BYTES = 2 * 1_048_576;

const FIELDS = z.strictObject({
  purpose: z.literal("batch"),
  "expires_after[anchor]": z.literal("created_at").optional(),
  "expires_after[seconds]": optionalIntegerParameter(3_600, 2_592_000),
});

const FORM = z
  .strictObject({ file: z.string().meta({ format: "binary" }), ...FIELDS.shape })
  .meta({ id: "FileForm" });

/**
 * POST /v1/files: stores the input of a batch, in OpenAI's shape. It is read and encrypted while it arrives. Beyond
 * SPEC (schema/choices.md).
 */
export const uploadFile = defineRoute({
  method: "POST",
  url: "/v1/files",
  summary: "Upload a file",
  access: "job.submit",
  body: "bytes",
  bodies: { "multipart/form-data": FORM },
  answer: { json: FILE },
  takesUpload: true,
  bodyLimitBytes: MAX_BODY_BYTES,
  async handle(app, { principal, upload }) {
    if (!upload)
      throw new AppError("unsupported_media_type", "Send the file as multipart/form-data.", {
        param: "Content-Type",
      });
    const spender = permitSpender(principal, "job.submit");
    const { announcedBytes } = upload;
    if ((announcedBytes ?? 0) > app.clientFiles.settings.maxBytes + FORM_BYTES)
      throw app.clientFiles.tooLarge();
    let target: FileUpload | undefined;
    try {
      const texts = await upload.read(async (filename) => {
        target = await app.clientFiles.begin(spender, { filename, announcedBytes });
        return target;
      });
      const fields = checkInput(FIELDS, texts);
      return json(viewFile(await finish(target, fields["expires_after[seconds]"])));
    } catch (error) {
      await target?.abandon();
      throw error;
    }
  },
});

/** GET /v1/files: the caller's files; an `sk-` key lists those that it uploaded or whose batch it created. */
export const listFiles = defineRoute({
  method: "GET",
  url: "/v1/files",
  summary: "List files",
  access: "job.read",
  query: z.strictObject({
    after: z.string().max(64).optional(),
    limit: integerParameter(1, 10_000, MAX_PAGE),
    order: z.enum(["asc", "desc"]).optional(),
    purpose: z.enum(["batch", "batch_output"]).optional(),
  }),
  answer: { json: pageOf(FILE) },
  async handle(app, { reach, query: { after, limit, order, purpose } }) {
    const page = {
      limit: Math.min(limit, MAX_PAGE),
      after: after === undefined ? undefined : readFileId(after),
    };
    const { rows, hasNextPage } = await app.clientFiles.list(reach, page, { purpose, order });
    return json(viewPage(rows.map(viewFile), hasNextPage));
  },
});

/** GET /v1/files/{id}: one file, without its content. */
export const getFileObject = defineRoute({
  method: "GET",
  url: "/v1/files/:id",
  summary: "Retrieve a file",
  access: "job.read",
  answer: { json: FILE },
  async handle(app, { reach, params: { id = "" } }) {
    return json(viewFile(await app.clientFiles.get(reach, readFileId(id))));
  },
});

/** GET /v1/files/{id}/content: the content of a file. */
export const getFileContent = defineRoute({
  method: "GET",
  url: "/v1/files/:id/content",
  summary: "Retrieve the content of a file",
  access: "job.content",
  answer: { media: { "application/octet-stream": z.string().meta({ format: "binary" }) } },
  async handle(app, { reach, params: { id = "" }, isHead }) {
    const file = await app.clientFiles.get(reach, readFileId(id));
    const headers = {
      "content-type": "application/octet-stream",
      "content-length": String(file.sizeBytes),
      "content-disposition": attachment(file.filename, shownFileId(file.id)),
      "x-content-type-options": "nosniff",
    };
    const isEmpty = isHead || file.sizeBytes === 0;
    const body = isEmpty ? undefined : (await app.clientFiles.read(file.id)).parts();
    return { kind: "file", status: 200, headers, body, bufferBytes: READ_AHEAD_BYTES };
  },
});

/** DELETE /v1/files/{id}: deletes a file. A batch that reads it continues. */
export const deleteFile = defineRoute({
  method: "DELETE",
  url: "/v1/files/:id",
  summary: "Delete a file",
  access: "job.cancel",
  answer: {
    json: z.strictObject({ id: z.string(), object: z.literal("file"), deleted: z.literal(true) }),
  },
  async handle(app, { reach, params: { id = "" } }) {
    await app.clientFiles.delete(reach, readFileId(id));
    return json({ id, object: "file", deleted: true });
  },
});

function finish(target: FileUpload | undefined, retentionSeconds: number | undefined) {
  if (!target) throw new Error("a form was read without its file");
  return target.finish(retentionSeconds);
}
