import { isUtf8 } from "node:buffer";
import secureJson from "secure-json-parse";
import type { z } from "zod";
import { checkInput } from "../kernel/check.ts";
import { AppError } from "../kernel/errors.ts";
import { elideTexts, restoreTexts, type TextSpan } from "./elided-text.ts";
import { BODY_LIMITS, measureJson } from "./json-shape.ts";
import type { Provider } from "./provider.ts";

/** A client's JSON body: its own bytes, and what they say. */
export type RequestFields = {
  readonly bytes: Buffer;
  readonly fields: Readonly<Record<string, unknown>>;
  /** Where the long texts of a large body are, in whose places `fields` have placeholders. */
  readonly elided?: readonly TextSpan[];
};

/** Fields that speak to the router and are not passed on (facts 1.2). */
const EXTENSIONS: ReadonlySet<string> = new Set([
  "provider",
  "verify_tee",
  "plugins",
  "attachments",
  "_e2ee",
]);

/** Reads a JSON body. Throws `invalid_body` naming the field at fault; a body that would touch a prototype is none. */
export function readFields<Schema extends z.ZodType>(schema: Schema, bytes: Buffer): z.output<Schema> {
  return checkFields(schema, parseJson(bytes));
}

/**
 * Reads the JSON body of a prompt, which may be large: of a body above 2 MiB the long texts are not parsed, and
 * `elided` tells where they are. Throws like `readFields`.
 */
export function readPromptFields<Schema extends z.ZodType>(
  schema: Schema,
  bytes: Buffer,
): { readonly fields: z.output<Schema>; readonly elided: readonly TextSpan[] } {
  const elided: TextSpan[] = [];
  const value = bytes.length > MAX_PARSED_BYTES ? parseJson(bytes, elided) : parseJson(bytes);
  return { fields: checkFields(schema, value), elided };
}

function checkFields<Schema extends z.ZodType>(schema: Schema, value: unknown): z.output<Schema> {
  refuseUnsupported(value);
  return checkInput(schema, value);
}

/** So much JSON is parsed at once: in 20 ms at most. */
const MAX_PARSED_BYTES = 2 * 1_048_576;

/** Extensions of the network's router that change what is answered, and that this router does not have. */
const UNSUPPORTED = ["plugins", "attachments", "_e2ee"] as const;

/** Throws `invalid_body` for a field that asks for what this router cannot do: to drop it would answer another request. */
function refuseUnsupported(value: unknown): void {
  if (typeof value !== "object" || value === null) return;
  for (const name of UNSUPPORTED) {
    const field = (value as Readonly<Record<string, unknown>>)[name];
    if (field === undefined || field === null || field === false) continue;
    if (Array.isArray(field) && field.length === 0) continue;
    throw new AppError("invalid_body", `${name}: this router does not support it; leave it out`, {
      param: name,
    });
  }
}

/**
 * The body for a provider: the client's own bytes where nothing is to be changed, with fields appended where they are
 * only to be added (numbers keep all their digits), written anew only where a field must go or change.
 */
export function forwardedBody(
  { bytes, fields, elided = [] }: RequestFields,
  added: Readonly<Record<string, unknown>>,
): Buffer {
  const inTheWay = [...EXTENSIONS, ...Object.keys(added)].some((name) => Object.hasOwn(fields, name));
  if (!inTheWay) return appendFields(bytes, added);
  const kept = Object.entries(fields).filter(([name]) => !EXTENSIONS.has(name));
  const written = JSON.stringify({ ...Object.fromEntries(kept), ...added });
  return elided.length === 0 ? Buffer.from(written) : restoreTexts(written, bytes, elided);
}

/** Puts fields before the last brace of a JSON object that has at least one field, and leaves its bytes alone. */
export function appendFields(object: Buffer, added: Readonly<Record<string, unknown>>): Buffer {
  const text = JSON.stringify(added).slice(1, -1);
  if (text === "") return object;
  const end = object.lastIndexOf("}");
  return Buffer.concat([object.subarray(0, end), Buffer.from(`,${text}}`)]);
}

/** The field `model` as this provider's server calls it, where that is otherwise. */
export function upstreamModel({ upstreamModel: model }: { readonly upstreamModel?: string | undefined }) {
  return model === undefined ? {} : { model };
}

/** The model as the client named it, in an answer of a provider that calls it otherwise; nothing where it does not. */
export function requestedModel({ model, upstreamModel: name }: Pick<Provider, "model" | "upstreamModel">) {
  return name === undefined || name === model ? {} : { model };
}

/**
 * Reads a JSON text after it was measured, so that the time is bounded. A body that another parser might read otherwise
 * is refused: with a field that comes twice, of which one would be billed and the other done, or with bytes that are no
 * UTF-8. Throws `invalid_body`.
 */
export function parseJson(bytes: Buffer, elided?: TextSpan[]): unknown {
  if (!isUtf8(bytes)) throw malformed("The body is not UTF-8.");
  const { members, excess } = measureJson(bytes, BODY_LIMITS, elided);
  if (excess !== undefined) throw malformed(`The body ${excess}.`);
  const parsed = elided ? elideTexts(bytes, elided) : bytes;
  if (elided && parsed.length > MAX_PARSED_BYTES)
    throw malformed("The body has too much beside its long texts.");
  let value: unknown;
  try {
    value = secureJson.parse(parsed, { protoAction: "error", constructorAction: "error" });
  } catch {
    throw malformed("The body is not valid JSON.");
  }
  if (typeof value === "object" && value !== null && !Array.isArray(value))
    if (Object.keys(value).length !== members) throw malformed("A field of the body comes twice.");
  return value;
}

function malformed(message: string): AppError {
  return new AppError("invalid_body", message, { param: "body" });
}
