import { type AppError, FAILURES } from "../../kernel/errors.ts";

/** An HTTP response to a line, with the id of the request that it was billed as. */
export type LineResponse = { readonly requestId: string; readonly statusCode: number; readonly body: Buffer };

const LINE_BREAKS = /[\r\n]/g;

/** A line of an output or error file, in OpenAI's shape, whose request was answered. */
export function responseLine(customId: string, { requestId, statusCode, body }: LineResponse): Buffer {
  const head = `{"id":${JSON.stringify(requestId)},"custom_id":${JSON.stringify(customId)},"response":{"status_code":${statusCode},"request_id":${JSON.stringify(requestId)},"body":`;
  return Buffer.concat([Buffer.from(head), onOneLine(body), Buffer.from('},"error":null}\n')]);
}

/** A line of an error file whose request was not sent. */
export function unsentLine(
  id: string,
  customId: string,
  { code, message }: { readonly code: string; readonly message: string },
): Buffer {
  return Buffer.from(
    `${JSON.stringify({ id, custom_id: customId, response: null, error: { code, message } })}\n`,
  );
}

/** The response to a request that failed with `error`, as a live request would have been answered. */
export function failedResponse(error: AppError, requestId: string): LineResponse {
  const { status, type } = FAILURES[error.code];
  const { message, code, param } = error;
  const body = Buffer.from(JSON.stringify({ error: { message, type, code, param }, request_id: requestId }));
  return { requestId, statusCode: status, body };
}

/** JSON has no line breaks within its strings, so those that are left are white space. */
function onOneLine(json: Buffer): Buffer {
  if (json.indexOf(0x0a) === -1 && json.indexOf(0x0d) === -1) return json;
  return Buffer.from(json.toString("latin1").replace(LINE_BREAKS, " "), "latin1");
}
