/** Why a request failed, as it is shown at its answer and kept with it. */
export type Failure = {
  /**
   * The code of the API, such as `insufficient_balance`; `network` without an answer, `answer_cut_off` for one that ended
   * early, `unreadable_answer` for one of another shape.
   */
  readonly code: string;
  readonly message: string;
  readonly param?: string | undefined;
  readonly requestId?: string | undefined;
  /** When a retry makes sense, as a Unix time in milliseconds. */
  readonly retryAt?: number | undefined;
};

/** What to do about a failure: a sentence, and where in the dashboard it is done. */
export type Advice = {
  readonly text: string;
  readonly to?: "/deposits" | "/keys" | "/providers";
  readonly link?: string;
  /** Whether another key helps. */
  readonly needsKey?: boolean;
  /** Whether the same request may succeed later. */
  readonly mayRetry?: boolean;
};

/** A request that failed. */
export class RequestFailed extends Error {
  readonly failure: Failure;

  constructor(failure: Failure) {
    super(failure.message);
    this.name = "RequestFailed";
    this.failure = failure;
  }
}

/** A thrown value as a failure. */
export function failureOf(error: unknown): Failure {
  if (error instanceof RequestFailed) return error.failure;
  if (error instanceof TypeError) return { code: "network", message: "The gateway cannot be reached." };
  // An answer that is no JSON, or JSON of another shape.
  if (error instanceof SyntaxError || (error instanceof Error && error.name.includes("ZodError")))
    return { code: "unreadable_answer", message: "The answer is not in the format of the API." };
  return { code: "unknown", message: error instanceof Error ? error.message : String(error) };
}

/** A failure in the JSON of the REST API: `{ error: { code, message, param }, request_id }`; undefined if it is none. */
export function failureIn(body: unknown, { status, retryAfter }: Answered = {}): Failure | undefined {
  if (typeof body !== "object" || body === null || !("error" in body)) return undefined;
  const { error, request_id: id } = body as { readonly error: unknown; readonly request_id?: unknown };
  if (typeof error !== "object" || error === null) return undefined;
  const { code, message, param } = error as Readonly<Record<string, unknown>>;
  const seconds = Number(retryAfter ?? Number.NaN);
  return {
    code: typeof code === "string" ? code : `status ${status ?? "unknown"}`,
    message: typeof message === "string" ? message : "The request failed.",
    param: typeof param === "string" ? param : undefined,
    requestId: typeof id === "string" ? id : undefined,
    retryAt: Number.isFinite(seconds) && retryAfter ? Date.now() + seconds * 1_000 : undefined,
  };
}

/** What the headers say beside the body. */
type Answered = { readonly status?: number; readonly retryAfter?: string | null };

const NEEDS_KEY = new Set(["invalid_api_key", "api_key_revoked", "api_key_expired", "missing_authorization"]);
const PREFERENCES = new Set([
  "provider_model_mismatch",
  "no_provider_for_trust_mode",
  "no_provider_with_evidence",
  "evidence_missing",
  "invalid_provider_header",
]);
const LATER = new Set([
  "unreadable_answer",
  "no_available_provider",
  "unavailable",
  "overloaded",
  "provider_error",
]);

/** What the user can do about a failure. */
export function adviceFor({ code, param }: Failure): Advice | undefined {
  if (code === "insufficient_balance")
    return { text: "Deposit more, then send it again.", to: "/deposits", link: "Go to Deposits" };
  if (code === "credit_limit_exceeded")
    return {
      text: "The key has spent its limit. Start a new session key, or use another one.",
      needsKey: true,
    };
  if (NEEDS_KEY.has(code)) return { text: "Start a new session key, or use another one.", needsKey: true };
  if (code === "rate_limit_exceeded") return { text: "Too many requests with this key.", mayRetry: true };
  if (code === "context_length_exceeded")
    return { text: "Clear the conversation, shorten it, or choose a model with a longer context." };
  if (code === "body_too_large" || code === "file_too_large")
    return { text: "Remove images, or send a smaller file." };
  if (code === "model_not_found")
    return { text: "Choose another model.", to: "/providers", link: "See the providers" };
  if (code === "access_denied" || code === "guardrail_violated")
    return {
      text: "The key does not allow it: change the key, or use another one.",
      to: "/keys",
      link: "Go to API keys",
    };
  if (PREFERENCES.has(code)) return { text: "Loosen the routing preferences." };
  if (LATER.has(code))
    return { text: "Try again in a moment.", to: "/providers", link: "See the providers", mayRetry: true };
  if (code === "content_policy_violation") return { text: "Change the question." };
  if (code === "network" || code === "answer_cut_off")
    return { text: "Check your connection, then send it again.", mayRetry: true };
  if (code === "invalid_body" || code === "invalid_parameter")
    return {
      text: param ? `Correct ${param}, then send it again.` : "Correct the parameters, then send it again.",
    };
  return undefined;
}
