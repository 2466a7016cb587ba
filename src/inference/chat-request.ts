import secureJson from "secure-json-parse";
import { z } from "zod";
import { AppError } from "../kernel/errors.ts";
import { isAddress, lowerHex } from "../kernel/hex.ts";
import { TRUST_FLOORS } from "../keys/key-terms.ts";
import type { RoutingWishes } from "./routing.ts";
import { countPromptTokens, countTokens } from "./tokens.ts";

const MAX_CHOICES = 128;
const tokens = z
  .int()
  .min(1)
  .max(2 ** 31 - 1);

/** The deprecated way to steer the choice of a provider: headers win field by field (facts 1.2). */
const ProviderWishes = z.object({
  sort: z.enum(["latency", "price"]).nullish(),
  address: z.string().refine(isAddress, "must be an address").nullish(),
  allow_fallbacks: z.boolean().nullish(),
  trust_mode: z.enum(TRUST_FLOORS).nullish(),
});

/** The fields that the router itself reads; all others are the provider's to judge (facts 1.2). */
const ChatBody = z.looseObject({
  model: z.string().min(1).max(256),
  messages: z
    .array(z.looseObject({ role: z.string() }))
    .min(1)
    .max(10_000),
  stream: z.boolean().nullish(),
  stream_options: z.looseObject({ include_usage: z.boolean().nullish() }).nullish(),
  max_tokens: tokens.nullish(),
  max_completion_tokens: tokens.nullish(),
  n: z.int().min(1).max(MAX_CHOICES).nullish(),
  provider: ProviderWishes.nullish(),
});

/** Fields that speak to the router and are not passed on (facts 1.2). */
const EXTENSIONS = ["provider", "verify_tee", "plugins", "attachments", "_e2ee"] as const;

/** A chat request as the router needs to know it. */
export type ChatRequest = {
  readonly model: string;
  readonly stream: boolean;
  /** Whether the client asked for the usage chunk at the end of a stream. */
  readonly wantsUsage: boolean;
  readonly maxTokens: number | undefined;
  readonly choices: number;
  readonly promptTokens: number;
  /** What its `provider` object asks for. */
  readonly wishes: RoutingWishes;
  /** The client's own bytes, and what they say. */
  readonly bytes: Buffer;
  readonly fields: Readonly<Record<string, unknown>>;
};

/** Reads a chat request. Throws `invalid_body` naming the field at fault; a body that would touch a prototype is none. */
export function readChatRequest(bytes: Buffer): ChatRequest {
  const result = ChatBody.safeParse(parseJson(bytes));
  if (!result.success) {
    const [issue] = result.error.issues;
    const param = issue?.path.join(".") || "body";
    throw new AppError("invalid_body", `${param}: ${issue?.message ?? "malformed"}`, { param });
  }
  const fields = result.data;
  return {
    model: fields.model,
    stream: fields.stream ?? false,
    wantsUsage: fields.stream_options?.include_usage ?? false,
    maxTokens: fields.max_completion_tokens ?? fields.max_tokens ?? undefined,
    choices: fields.n ?? 1,
    promptTokens:
      countPromptTokens(fields.messages) + (fields.tools ? countTokens(JSON.stringify(fields.tools)) : 0),
    wishes: toWishes(fields.provider),
    bytes,
    fields,
  };
}

/** Reads the `provider` object of a body, which other endpoints have too. Throws `invalid_body`. */
export function readProviderWishes(provider: unknown): RoutingWishes {
  const result = ProviderWishes.nullish().safeParse(provider);
  if (result.success) return toWishes(result.data);
  const [issue] = result.error.issues;
  const param = ["provider", ...(issue?.path ?? [])].join(".");
  throw new AppError("invalid_body", `${param}: ${issue?.message ?? "malformed"}`, { param });
}

function toWishes(stated: z.output<typeof ProviderWishes> | null | undefined): RoutingWishes {
  const { sort, address, allow_fallbacks: allowFallbacks, trust_mode: trustMode } = stated ?? {};
  return {
    ...(sort && { sort }),
    ...(address && { pin: lowerHex(address) }),
    ...(allowFallbacks != null && { allowFallbacks }),
    ...(trustMode && { trustMode }),
  };
}

/**
 * The body for the provider: the client's own bytes where nothing is to be changed; with fields appended at the end
 * where they are only to be added (numbers keep all their digits); written anew only where a field must go.
 */
export function providerBody(request: ChatRequest, maxTokens: number): Buffer {
  const { fields, stream } = request;
  const added: Record<string, unknown> = {};
  if (stream && !request.wantsUsage)
    added.stream_options = { ...(fields.stream_options as object), include_usage: true };
  if (request.maxTokens === undefined) added.max_tokens = maxTokens;
  const inTheWay = [...EXTENSIONS, ...Object.keys(added)].some((name) => name in fields);
  if (inTheWay) {
    const kept = Object.entries(fields).filter(([name]) => !(EXTENSIONS as readonly string[]).includes(name));
    return Buffer.from(JSON.stringify({ ...Object.fromEntries(kept), ...added }));
  }
  return appendFields(request.bytes, added);
}

/** Puts fields before the last brace of a JSON object that has at least one field, and leaves its bytes alone. */
export function appendFields(object: Buffer, added: Readonly<Record<string, unknown>>): Buffer {
  const text = JSON.stringify(added).slice(1, -1);
  if (text === "") return object;
  const end = object.lastIndexOf("}");
  return Buffer.concat([object.subarray(0, end), Buffer.from(`,${text}}`)]);
}

function parseJson(bytes: Buffer): unknown {
  try {
    return secureJson.parse(bytes, { protoAction: "error", constructorAction: "error" });
  } catch {
    throw new AppError("invalid_body", "The body is not valid JSON.", { param: "body" });
  }
}
