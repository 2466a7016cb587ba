import { isUtf8 } from "node:buffer";
import type { z } from "zod";
import { checkInput } from "../../kernel/check.ts";
import { concatPieces, type Piece } from "../../kernel/concat-pieces.ts";
import { AppError } from "../../kernel/errors.ts";
import { BODY_LIMITS, BYTE_ORDER_MARK, measureJson, type TextSpan } from "../../kernel/text/json-shape.ts";
import { hasControlCharacterInTurns } from "../../kernel/text/json-text.ts";
import { parseMeasured } from "../../kernel/text/safe-json.ts";
import type { Provider } from "../providers/provider.ts";
import { ElidedTexts } from "./elided-text.ts";

/** A client's JSON body: its bytes and its parsed fields. */
export type RequestFields = {
  readonly bytes: Buffer;
  readonly fields: Readonly<Record<string, unknown>>;
  /** The long strings of a large body; `fields` contains an `ElidedText` in place of each. */
  readonly elided?: ElidedTexts | undefined;
};

const CLOSING_BRACE = 0x7d;

/** Fields addressed to the router, which are not forwarded (facts 1.2). */
const EXTENSIONS: ReadonlySet<string> = new Set([
  "provider",
  "verify_tee",
  "session_id",
  "plugins",
  "attachments",
  "_e2ee",
]);

/**
 * Reads a JSON body. Throws `invalid_body` naming the invalid field; a body that would touch a prototype is invalid.
 */
export function readFields<Schema extends z.ZodType>(schema: Schema, bytes: Buffer): z.output<Schema> {
  return checkFields(schema, parseJson(bytes));
}

/**
 * Reads the JSON body of a prompt, which may be large: the long strings of a body over 2 MiB are not parsed but only
 * validated, over several turns of the event loop, and returned in `elided`. Throws like `readFields`.
 */
export async function readPromptFields<Schema extends z.ZodType>(
  schema: Schema,
  bytes: Buffer,
): Promise<{ readonly fields: z.output<Schema>; readonly elided?: ElidedTexts }> {
  if (bytes.length <= MAX_PARSED_BYTES) return { fields: readFields(schema, bytes) };
  const spans: TextSpan[] = [];
  const members = measured(bytes, spans);
  const elided = new ElidedTexts(bytes, spans);
  const json = elided.withoutTexts();
  if (json.length > MAX_PARSED_BYTES) throw malformed("The body is too large apart from its long strings.");
  const value = elided.named(parseMeasured(json, members));
  if (await hasControlCharacterInTurns(elided.parts())) throw malformed("The body is not valid JSON.");
  return { fields: checkFields(schema, value), elided };
}

function checkFields<Schema extends z.ZodType>(schema: Schema, value: unknown): z.output<Schema> {
  refuseUnsupported(value);
  return checkInput(schema, value);
}

/** Maximum JSON size that is parsed in one turn: 20 ms at most. */
const MAX_PARSED_BYTES = 2 * 1_048_576;

/** Extensions of the network's router that change the answer and are not supported here. */
const UNSUPPORTED = ["plugins", "attachments", "_e2ee"] as const;

/** Throws `invalid_body` for an unsupported field: dropping it would answer a different request. */
function refuseUnsupported(value: unknown): void {
  if (typeof value !== "object" || value === null) return;
  for (const name of UNSUPPORTED) {
    const field = (value as Readonly<Record<string, unknown>>)[name];
    if (field === undefined || field === null || field === false) continue;
    if (Array.isArray(field) && field.length === 0) continue;
    throw new AppError("invalid_body", `${name}: not supported by this router; omit it`, {
      param: name,
    });
  }
}

/**
 * The body for a provider: the client's own bytes if nothing changes, with fields appended if they are only added
 * (numbers keep all their digits), and serialized again only if a field is removed or changed.
 */
export function forwardedBody(
  { bytes, fields, elided }: RequestFields,
  added: Readonly<Record<string, unknown>>,
): Buffer {
  const inTheWay = [...EXTENSIONS, ...Object.keys(added)].some((name) => Object.hasOwn(fields, name));
  if (!inTheWay) return appendFields(bytes, added);
  const kept = Object.entries(fields).filter(([name]) => !EXTENSIONS.has(name));
  const written = JSON.stringify({ ...Object.fromEntries(kept), ...added });
  return elided ? elided.restored(written) : Buffer.from(written);
}

/** Inserts fields before the last brace of a non-empty JSON object; all other bytes stay unchanged. */
export function appendFields(object: Buffer, added: Readonly<Record<string, unknown>>): Buffer {
  const pieces = withFields(object, added);
  return pieces.length === 1 ? object : concatPieces(pieces);
}

/** The pieces of `appendFields`, for a long object. */
export function withFields(object: Buffer, added: Readonly<Record<string, unknown>>): readonly Piece[] {
  const text = JSON.stringify(added);
  if (text === "{}") return [object];
  return [object.subarray(0, object.lastIndexOf(CLOSING_BRACE)), `,${text.slice(1)}`];
}

/** The field `model` with the name that this provider's server uses, if it differs. */
export function upstreamModel({ upstreamModel: model }: { readonly upstreamModel?: string | undefined }) {
  return model === undefined ? {} : { model };
}

/** Sets `model` to the candidate's, where it is not what the body has, and removes the list of `models`. */
export function candidateModel(
  { fields }: Pick<RequestFields, "fields">,
  { model, upstreamModel: name = model }: Pick<Provider, "model" | "upstreamModel">,
) {
  return {
    ...(name !== fields.model && { model: name }),
    ...(Object.hasOwn(fields, "models") && { models: undefined }),
  };
}

/** The client's name of the model, if the provider uses a different one; otherwise empty. */
export function requestedModel({ model, upstreamModel: name }: Pick<Provider, "model" | "upstreamModel">) {
  return name === undefined || name === model ? {} : { model };
}

/**
 * Parses a JSON text after measuring it, so that the time is bounded. A body that another parser might read differently
 * is rejected: one with a duplicate field in any object (one value might be billed and the other executed), with
 * invalid UTF-8, or with a byte order mark. Throws `invalid_body`.
 */
export function parseJson(bytes: Buffer): unknown {
  return parseMeasured(bytes, measured(bytes));
}

/** Counts the members of all objects of a text. Throws if the text exceeds its limits. */
function measured(bytes: Buffer, longTexts?: TextSpan[]): number {
  if (!isUtf8(bytes)) throw malformed("The body is not UTF-8.");
  if (bytes[0] === BYTE_ORDER_MARK) throw malformed("The body starts with a byte order mark.");
  const { members, excess, isMalformed } = measureJson(bytes, BODY_LIMITS, longTexts);
  if (excess !== undefined) throw malformed(`The body ${excess}.`);
  if (isMalformed) throw malformed("The body is not valid JSON.");
  return members;
}

function malformed(message: string): AppError {
  return new AppError("invalid_body", message, { param: "body" });
}
