import { ForbiddenAddress } from "../../../kernel/address-guard.ts";
import { AppError } from "../../../kernel/errors.ts";
import { BYTE_ORDER_MARK, hasByteOrderMark } from "../../../kernel/text/byte-order-mark.ts";
import type { MemoryBudget, MemoryLease } from "../../../load/memory-budget.ts";
import { type Fields, fieldsOf } from "../../body/fields.ts";
import { AnswerBody } from "./answer-body.ts";
import type { ProviderExchange, ProviderHead, ProviderListener } from "./provider-exchange.ts";
import { ProviderFailure, ProviderRefusal } from "./provider-failure.ts";
import { shownReason } from "./shown-reason.ts";
import { SilenceTimer } from "./silence-timer.ts";

/** A provider's whole answer. */
export type ProviderAnswer = ProviderHead & { readonly body: Buffer };

/** Default maximum size of a collected answer. */
const MAX_ANSWER_BYTES = 16 * 1_048_576;
/** Smaller answers are bounded by the number of requests, and not worth counting. */
const MIN_COUNTED_BYTES = 16_384;
const MAX_FIELD = 256;
/** A longer error body is not read. */
const MAX_REFUSAL_BYTES = 65_536;

/**
 * Collects one answer of at most `maxBytes`. `post` starts the exchange. Rejects with a `ProviderFailure` when the
 * answer does not arrive completely, and when `signal` aborts.
 */
export async function gatherAnswer(
  post: (listener: ProviderListener) => Promise<ProviderExchange>,
  given: {
    readonly signal: AbortSignal;
    readonly maxBytes?: number | undefined;
    /** Accounts the answer's memory while it is collected. Never rejects it: the provider has already done the work. */
    readonly memory?: Pick<MemoryBudget, "open">;
    /** Deadline for the first byte of the body after the head, milliseconds. No limit by default. */
    readonly firstTokenMs?: number | undefined;
    /** Maximum silence after the first byte of the body, milliseconds. No limit by default. */
    readonly silenceMs?: number | undefined;
    onHead?(): void;
  },
): Promise<ProviderAnswer> {
  const { signal, maxBytes = MAX_ANSWER_BYTES } = given;
  let lease: MemoryLease | undefined;
  const { promise, resolve, reject } = Promise.withResolvers<ProviderAnswer>();
  const body = new AnswerBody(maxBytes);
  let head: ProviderHead = { status: 0, contentType: "", responseKey: undefined };
  const silence = new SilenceTimer((failure) => exchange.abort(failure));
  const exchange = await post({
    onHead(received) {
      given.onHead?.();
      head = received;
      silence.allow(received.status === 200 ? given.firstTokenMs : given.silenceMs);
    },
    onChunk(chunk) {
      silence.allow(given.silenceMs);
      if (!body.add(chunk)) return exchange.abort(new ProviderFailure("malformed", TOO_LONG));
      if (body.sizeBytes <= MIN_COUNTED_BYTES) return;
      lease ??= given.memory?.open({ kind: "account", id: "answers of providers" });
      lease?.charge(body.sizeBytes - lease.bytes);
    },
    onEnd: () => resolve({ ...head, body: withoutMark(body.toBuffer(), head) }),
    onError: (cause) => reject(failureOf(cause)),
  });
  const onAbort = () => exchange.abort(new Error("the client disconnected"));
  if (signal.aborted) onAbort();
  signal.addEventListener("abort", onAbort, { once: true });
  try {
    return await promise;
  } finally {
    silence.stop();
    lease?.release();
    signal.removeEventListener("abort", onAbort);
  }
}

/** JSON without a byte order mark, with which clients cannot parse it. */
function withoutMark(body: Buffer, { contentType }: ProviderHead): Buffer {
  return contentType.includes("json") && hasByteOrderMark(body)
    ? Buffer.from(body.subarray(BYTE_ORDER_MARK.length))
    : body;
}

const TOO_LONG = { message: "The provider's answer is too long." };

const SILENCES: ReadonlySet<string> = new Set(["UND_ERR_HEADERS_TIMEOUT", "UND_ERR_BODY_TIMEOUT"]);

/** Converts the error of an incomplete exchange to a failure. The error's own text is only logged. */
export function failureOf(cause: unknown): AppError {
  if (cause instanceof AppError) return cause;
  if (cause instanceof ForbiddenAddress) return new ProviderFailure("forbidden_address", { cause });
  const code = cause instanceof Error && "code" in cause ? String(cause.code) : "";
  return new ProviderFailure(SILENCES.has(code) ? "silent" : "unreachable", { cause });
}

/** Reasons that clients handle; they mean that the request itself is at fault, whatever the status. */
const REASONS = {
  context_length_exceeded: "context_length_exceeded",
  content_policy_violation: "content_policy_violation",
  content_filter: "content_policy_violation",
  previous_response_not_found: "previous_response_not_found",
} as const;
/** Statuses that blame the request. */
const BLAMING: ReadonlySet<number> = new Set([400, 413, 422]);
/** Statuses of a provider that takes no more requests for now; 529 is that of Anthropic's API and of some proxies. */
const BUSY: ReadonlySet<number> = new Set([429, 529]);
/** The statuses of errors that arrive without one, in a body with status 200 or as an event, by their codes. */
const STATUSES: ReadonlyMap<string, number> = new Map([
  ["invalid_request_error", 400],
  ["request_too_large", 413],
  ["rate_limit_error", 429],
  ["rate_limit_exceeded", 429],
  ["overloaded_error", 529],
]);
/** OpenRouter, vLLM and Google state the status as the code. */
const STATUS_CODE = /^[45]\d\d$/;
/** How servers without that code (vLLM, SGLang, llama.cpp, Anthropic's format) report that a request is too long. */
const TOO_LONG_FOR_MODEL =
  /maximum (?:context|prompt) length|exceeds? the (?:available )?context|context (?:length|window|size) exceeded|prompt is too long|longer than the (?:model's context|maximum model) length/i;
/** How servers report that they do not keep the response that a request continues; vLLM with 404. */
const RESPONSE_GONE = /\bresponse with id\b.{0,200}\bnot found\b/i;

/**
 * The failure for a provider's answer with a status other than 200. If it blames the request (400, 413, 422), it is the
 * answer: its reason is forwarded (`shownReason`), and no other provider is tried. Everything else is a `ProviderFailure`.
 */
export function refusalOf(head: RefusalHead, body: Buffer): AppError {
  const { status, retryAfterMs, providerUrl } = head;
  const error = readError(body, providerUrl);
  const { reason, code } = error;
  if (BLAMING.has(status)) {
    if (code === "model_not_found") return failed("model_missing", head, body);
    return blame(error);
  }
  if (status === 401 || status === 403) return failed("credential", head, body);
  if (status === 404)
    return reasonFor(code, reason) === "previous_response_not_found"
      ? blame(error)
      : failed("model_missing", head, body);
  const isBusy = BUSY.has(status) || (status === 503 && retryAfterMs !== undefined);
  return failed(isBusy ? "busy" : "failed", head, body);
}

type RefusalHead = Pick<ProviderHead, "status" | "retryAfterMs" | "providerUrl">;

/**
 * The failure for an error that arrived as an answer of the provider with this URL: in a body with status 200, or as an
 * event. A status that it states as its code, or that its code has, means the same as that of an answer.
 */
export function statedFailure(error: unknown, providerUrl: string | undefined): AppError {
  const body = Buffer.from(JSON.stringify({ error }));
  const stated = readError(body, providerUrl);
  const { reason, code } = stated;
  if (reasonFor(code, reason)) return blame(stated);
  const status = STATUSES.get(code) ?? (STATUS_CODE.test(code) ? Number(code) : undefined);
  if (status !== undefined) return refusalOf({ status, providerUrl }, body);
  return new ProviderFailure("failed", { message: "The provider failed.", cause: new Error(logged(code)) });
}

function reasonFor(code: string, reason: string): (typeof REASONS)[keyof typeof REASONS] | undefined {
  if (Object.hasOwn(REASONS, code)) return REASONS[code as keyof typeof REASONS];
  if (TOO_LONG_FOR_MODEL.test(reason)) return "context_length_exceeded";
  return RESPONSE_GONE.test(reason) ? "previous_response_not_found" : undefined;
}

function blame({ code, reason, param }: StatedError): AppError {
  const ours = reasonFor(code, reason);
  if (ours === undefined) return new ProviderRefusal(reason, param);
  // The provider's reason names its own id of the response, which the client does not know.
  if (ours === "previous_response_not_found")
    return new AppError(ours, "The provider no longer keeps the previous response.", {
      param: "previous_response_id",
    });
  return new AppError(ours, `The provider rejected the request: ${reason}`);
}

function failed(kind: ProviderFailure["kind"], head: RefusalHead, body: Buffer) {
  const { status, retryAfterMs, providerUrl } = head;
  const cause = new Error(`status ${status} ${logged(readError(body, providerUrl).code)}`.trim());
  return new ProviderFailure(kind, { message: "The provider failed.", cause, status, retryAfterMs });
}

/** A provider's code is logged if it is a single word; its text is not, because it may repeat the prompt. */
function logged(code: string): string {
  return /^[\w.-]{1,64}$/.test(code) ? code : "";
}

/** An error as a provider states it; `param` is the field that it names. */
type StatedError = {
  readonly reason: string;
  readonly code: string;
  readonly param?: string | undefined;
};

/** The path of a field, such as `messages.0.content`. Any other text may be a part of the prompt. */
const FIELD = /^[a-z_]\w{0,63}(?:\.\w{1,64}){0,16}$/i;
/** An index as OpenAI (`messages.[0]`) and others (`messages[0]`) write it. */
const INDEX = /\.?\[(\d{1,9})\]/g;

function fieldOf(param: unknown): string | undefined {
  if (typeof param !== "string" || param.length > MAX_FIELD) return undefined;
  const path = param.replace(INDEX, ".$1");
  return FIELD.test(path) ? path : undefined;
}

function readError(body: Buffer, providerUrl: string | undefined): StatedError {
  const shown = (reason: unknown) =>
    shownReason(typeof reason === "string" ? reason : (JSON.stringify(reason) ?? NO_REASON), providerUrl);
  if (body.length > MAX_REFUSAL_BYTES) return { reason: NO_REASON, code: "" };
  const text = body.toString("utf8");
  try {
    const error = errorIn(JSON.parse(text));
    if (typeof error !== "object" || error === null) return { reason: shown(error), code: "" };
    const { message, code, type, param } = error as Record<string, unknown>;
    return { reason: shown(message), code: String(code ?? type ?? ""), param: fieldOf(param) };
  } catch {
    return { reason: NO_REASON, code: "" };
  }
}

const NO_REASON = "no reason was given";
const MAX_DETAILS = 3;

/**
 * The error that a body states: its member `error`, or the body itself, as earlier versions of vLLM and Cohere's API
 * answer. Servers made with FastAPI have it in `detail`: a text, or a list of the fields at fault.
 */
function errorIn(body: unknown): unknown {
  if (typeof body !== "object" || body === null) return undefined;
  const { error, message, detail } = body as Fields;
  if (error !== undefined && error !== null) return error;
  if (typeof message === "string") return body;
  return Array.isArray(detail) ? listedError(detail) : detail;
}

function listedError(details: readonly unknown[]): unknown {
  const faults = details.slice(0, MAX_DETAILS).map(fieldsOf);
  const paths = faults.map(({ loc }) => (Array.isArray(loc) ? loc : []).filter((name) => name !== "body"));
  const texts = faults.map(({ msg }, at) =>
    [...(paths[at]?.length ? [paths[at].join(".")] : []), msg].join(": "),
  );
  return { message: texts.join("; "), param: paths[0]?.join(".") };
}
