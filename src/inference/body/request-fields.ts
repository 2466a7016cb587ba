import { isUtf8 } from "node:buffer";
import secureJson from "secure-json-parse";
import type { z } from "zod";
import { checkInput } from "../../kernel/check.ts";
import { AppError } from "../../kernel/errors.ts";
import { BODY_LIMITS, BYTE_ORDER_MARK, measureJson, type TextSpan } from "../../kernel/text/json-shape.ts";
import { hasControlCharacterInTurns } from "../../kernel/text/json-text.ts";
import type { Provider } from "../providers/provider.ts";
import { ElidedTexts } from "./elided-text.ts";

/** A client's JSON body: its own bytes, and what they say. */
export type RequestFields = {
  readonly bytes: Buffer;
  readonly fields: Readonly<Record<string, unknown>>;
  /** The long texts of a large body, in whose places `fields` have an `ElidedText` each. */
  readonly elided?: ElidedTexts | undefined;
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
 * Reads the JSON body of a prompt, which may be large: of a body above 2 MiB the long texts are not parsed but checked,
 * in as many turns of the event loop as it takes, and `elided` has them. Throws like `readFields`.
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
  if (json.length > MAX_PARSED_BYTES) throw malformed("The body has too much beside its long texts.");
  const value = elided.named(parseMeasured(json, members));
  if (await hasControlCharacterInTurns(elided.parts())) throw malformed("The body is not valid JSON.");
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
  { bytes, fields, elided }: RequestFields,
  added: Readonly<Record<string, unknown>>,
): Buffer {
  const inTheWay = [...EXTENSIONS, ...Object.keys(added)].some((name) => Object.hasOwn(fields, name));
  if (!inTheWay) return appendFields(bytes, added);
  const kept = Object.entries(fields).filter(([name]) => !EXTENSIONS.has(name));
  const written = JSON.stringify({ ...Object.fromEntries(kept), ...added });
  return elided ? elided.restored(written) : Buffer.from(written);
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
 * is refused: with a field of any of its objects that comes twice, of which one would be billed and the other done, with
 * bytes that are no UTF-8, or with a byte order mark. Throws `invalid_body`.
 */
export function parseJson(bytes: Buffer): unknown {
  return parseMeasured(bytes, measured(bytes));
}

/** How many members the objects of a text have, which is within its limits. */
function measured(bytes: Buffer, longTexts?: TextSpan[]): number {
  if (!isUtf8(bytes)) throw malformed("The body is not UTF-8.");
  if (bytes[0] === BYTE_ORDER_MARK) throw malformed("The body begins with a byte order mark.");
  const { members, excess, isMalformed } = measureJson(bytes, BODY_LIMITS, longTexts);
  if (excess !== undefined) throw malformed(`The body ${excess}.`);
  if (isMalformed) throw malformed("The body is not valid JSON.");
  return members;
}

function parseMeasured(json: Buffer, members: number): unknown {
  let value: unknown;
  try {
    value = secureJson.parse(json, { protoAction: "error", constructorAction: "error" });
  } catch {
    throw malformed("The body is not valid JSON.");
  }
  if (membersOf(value) !== members) throw malformed("A field of the body comes twice.");
  return value;
}

/** How many members all objects of a parsed value have. */
function membersOf(value: unknown): number {
  if (typeof value !== "object" || value === null) return 0;
  let members = 0;
  if (Array.isArray(value)) for (const item of value) members += membersOf(item);
  else
    for (const name in value) {
      members++;
      members += membersOf((value as Readonly<Record<string, unknown>>)[name]);
    }
  return members;
}

function malformed(message: string): AppError {
  return new AppError("invalid_body", message, { param: "body" });
}
