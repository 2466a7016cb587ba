import { isUtf8 } from "node:buffer";
import type { z } from "zod";
import { nextTurn } from "../../kernel/async/next-turn.ts";
import { checkInput } from "../../kernel/check.ts";
import { concatPieces, type Piece } from "../../kernel/concat-pieces.ts";
import { AppError } from "../../kernel/errors.ts";
import {
  BODY_LIMITS,
  BYTE_ORDER_MARK,
  type Elision,
  type JsonShape,
  measureJson,
  PLACEHOLDER_BYTES,
  tooManyValues,
  type ValueSpan,
} from "../../kernel/text/json-shape.ts";
import { hasControlCharacterInTurns } from "../../kernel/text/json-text.ts";
import { pathToLoneSurrogate } from "../../kernel/text/lone-surrogate.ts";
import { parseMeasured } from "../../kernel/text/safe-json.ts";
import type { Provider } from "../providers/provider.ts";
import { changedMembers } from "./changed-members.ts";
import { ElidedTexts, ElidedTokens, MIN_LONGEST } from "./elided-text.ts";
import { refuseOtherCase } from "./field-case.ts";
import { fieldsOf } from "./fields.ts";
import { invalidField } from "./invalid-field.ts";
import { isRefusable } from "./refused-fields.ts";

/** A client's JSON body: its bytes and its parsed fields. */
export type RequestFields = {
  readonly bytes: Buffer;
  readonly fields: Readonly<Record<string, unknown>>;
  /** The long values of a large body; `fields` contains an `ElidedText` or `ElidedTokens` in place of each. */
  readonly elided?: ElidedTexts | undefined;
};

const CLOSING_BRACE = 0x7d;
/** Numbers in lists of tokens. OpenAI's API takes 300,000 in one request for embeddings. */
const MAX_TOKENS = 524_288;

/** Fields addressed to the router, which are not forwarded (facts 1.2). */
export const EXTENSIONS: ReadonlySet<string> = new Set([
  "provider",
  "verify_tee",
  "session_id",
  "usage",
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
 * validated, over several turns of the event loop, and returned in `elided`. The member `tokens`, if there is one, may
 * have lists of many numbers; the long ones of a body over 2 MiB are not parsed either. Throws like `readFields`.
 */
export async function readPromptFields<Schema extends z.ZodType>(
  schema: Schema,
  bytes: Buffer,
  tokens?: string,
): Promise<{ readonly fields: z.output<Schema>; readonly elided?: ElidedTexts }> {
  if (bytes.length <= MAX_PARSED_BYTES) {
    const { members, numbers, hasLoneSurrogate } = measured(bytes, { tokens });
    const value = parseMeasured(bytes, members);
    if (hasLoneSurrogate) throw halfOfPair(value);
    limitOtherLists(value, numbers, tokens);
    return { fields: checkFields(schema, value) };
  }
  const spans: ValueSpan[] = [];
  const { members, numbers } = measured(bytes, {
    tokens,
    elision: { spans, maxKeptBytes: MAX_PARSED_BYTES },
  });
  // Measuring and parsing are two turns.
  await nextTurn();
  const elided = new ElidedTexts(bytes, longestOf(spans, bytes));
  const value = elided.named(parseMeasured(elided.withoutTexts(), members));
  limitOtherLists(value, numbers, tokens);
  if (await hasControlCharacterInTurns(elided.parts())) throw malformed("The body is not valid JSON.");
  return { fields: checkFields(schema, value), elided };
}

/** The spans that must not be parsed: those of 1 KiB and more, if the rest is short enough; otherwise all. */
function longestOf(spans: readonly ValueSpan[], bytes: Buffer): readonly ValueSpan[] {
  const longest = spans.filter(({ start, end }) => end - start - 2 >= MIN_LONGEST);
  const kept = longest.reduce((sum, { start, end }) => sum - (end - start) + PLACEHOLDER_BYTES, bytes.length);
  return kept <= MAX_PARSED_BYTES ? longest : spans;
}

function checkFields<Schema extends z.ZodType>(schema: Schema, value: unknown): z.output<Schema> {
  const { shape } = schema as { readonly shape?: object };
  const isKnown = (name: string) => Object.hasOwn(shape ?? {}, name) || isRefusable(name) || READ.has(name);
  refuseOtherCase(fieldsOf(value), isKnown);
  refuseUnsupported(value);
  return checkInput(schema, value);
}

/** Throws `invalid_body` if the lists beside those of tokens have too many items: they are slower to check. */
function limitOtherLists(value: unknown, numbers: number, tokens: string | undefined): void {
  if (tokens === undefined || numbers <= BODY_LIMITS.maxValues) return;
  const { [tokens]: _tokens, ...others } = Object(value) as Readonly<Record<string, unknown>>;
  if (itemsOf(others) > BODY_LIMITS.maxValues)
    throw malformed(`The body ${tooManyValues(BODY_LIMITS.maxValues)}.`);
}

/** Counts the items of all lists of a value. */
function itemsOf(value: unknown): number {
  if (typeof value !== "object" || value === null) return 0;
  if (value instanceof ElidedTokens) return value.count;
  const items = Array.isArray(value) ? value.length : 0;
  return Object.values(value).reduce<number>((sum, item) => sum + itemsOf(item), items);
}

/** Maximum JSON size that is parsed in one turn: 20 ms at most. */
const MAX_PARSED_BYTES = 2 * 1_048_576;

/** Fields that are read without being in every schema: by guardrails, by counts and by the bounds of a prompt. */
const READ: ReadonlySet<string> = new Set([
  ...EXTENSIONS,
  ...["messages", "system", "instructions", "documents", "tools", "functions", "tool_choice"],
  ...["max_tokens", "max_completion_tokens", "max_output_tokens", "n", "best_of", "thinking", "reasoning"],
  ...["conversation", "previous_response_id", "context_management", "compaction", "stream", "store"],
]);

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
 * The body for a provider: the client's own bytes if nothing changes. Where a field is added, changed or removed, all other
 * fields keep their bytes, so that numbers keep their digits.
 */
export function forwardedBody(
  { bytes, fields, elided }: RequestFields,
  added: Readonly<Record<string, unknown>>,
): Buffer {
  const removed = [...EXTENSIONS].filter((name) => Object.hasOwn(fields, name));
  if (removed.length === 0 && !Object.keys(added).some((name) => Object.hasOwn(fields, name)))
    return appendFields(bytes, added);
  const changes = new Map([...removed.map((name) => [name, undefined] as const), ...Object.entries(added)]);
  const written = (value: unknown) => {
    const json = JSON.stringify(value);
    return elided ? elided.restored(json) : json;
  };
  return concatPieces(changedMembers(bytes, changes, written));
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
 * invalid UTF-8, with half of a surrogate pair, or with a byte order mark. Throws `invalid_body`.
 */
export function parseJson(bytes: Buffer): unknown {
  const { members, hasLoneSurrogate } = measured(bytes);
  const value = parseMeasured(bytes, members);
  if (hasLoneSurrogate) throw halfOfPair(value);
  return value;
}

/** Measures a text, with the member that may have lists of tokens. Throws if the text exceeds its limits. */
function measured(
  bytes: Buffer,
  { tokens, elision }: { readonly tokens?: string | undefined; readonly elision?: Elision } = {},
): JsonShape {
  if (!isUtf8(bytes)) throw malformed("The body is not UTF-8.");
  if (bytes[0] === BYTE_ORDER_MARK) throw malformed("The body starts with a byte order mark.");
  const limits = tokens === undefined ? BODY_LIMITS : { ...BODY_LIMITS, maxNumbers: MAX_TOKENS };
  const shape = measureJson(bytes, limits, elision);
  if (shape.excess !== undefined)
    throw shape.member === undefined
      ? malformed(`The body ${shape.excess}.`)
      : invalidField(shape.member, `the body ${shape.excess}`);
  if (shape.isMalformed) throw malformed("The body is not valid JSON.");
  // A longer body is not parsed only to name the field.
  if (shape.hasLoneSurrogate && bytes.length > MAX_PARSED_BYTES) throw halfOfPair();
  return shape;
}

/** The failure of a body with half of a surrogate pair: parsers replace it, refuse it, or pass it on. */
function halfOfPair(value?: unknown): AppError {
  const param = pathToLoneSurrogate(value);
  const what = "has half of a surrogate pair, which is not a character";
  return param === undefined ? malformed(`The body ${what}.`) : invalidField(param, what);
}

function malformed(message: string): AppError {
  return new AppError("invalid_body", message, { param: "body" });
}
