import { isUtf8 } from "node:buffer";
import type { FastifyInstance, FastifyRequest } from "fastify";
import { AppError } from "../../src/kernel/errors.ts";
import { BODY_LIMITS, BYTE_ORDER_MARK, measureJson } from "../../src/kernel/text/json-shape.ts";
import { parseMeasured } from "../../src/kernel/text/safe-json.ts";

/**
 * Parses JSON bodies: at most `maxDepth` levels deep, with nothing that could touch a prototype (promises F9) and no
 * duplicate field, else 400 `invalid_body`. Invalid UTF-8 is refused as well: decoding would replace it, and another text
 * than the client sent would be stored or billed. A body of another type is read and discarded.
 */
export function readJsonBodies(server: FastifyInstance, maxDepth: number): void {
  server.removeAllContentTypeParsers();
  server.addContentTypeParser(
    "application/json",
    { parseAs: "buffer" },
    async (_request: FastifyRequest, body: Buffer) => parseJson(body, maxDepth),
  );
  server.addContentTypeParser("*", { parseAs: "buffer" }, async () => undefined);
}

function parseJson(bytes: Buffer, maxDepth: number): unknown {
  if (bytes.length === 0) return undefined;
  if (!isUtf8(bytes)) throw malformed("The body is not UTF-8.");
  if (bytes[0] === BYTE_ORDER_MARK) throw malformed("The body starts with a byte order mark.");
  const { excess, members } = measureJson(bytes, { ...BODY_LIMITS, maxDepth });
  if (excess !== undefined) throw malformed(`The body ${excess}.`);
  return parseMeasured(bytes, members);
}

function malformed(message: string): AppError {
  return new AppError("invalid_body", message, { param: "body" });
}
