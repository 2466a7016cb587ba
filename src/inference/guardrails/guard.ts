import { AppError } from "../../kernel/errors.ts";
import type { Guardrails } from "../../keys/api-keys/guardrails.ts";
import type { AdmissionRequest } from "../billing/admission-request.ts";
import type { Bodies } from "../body/body-pool.ts";
import { foldedName } from "../body/field-case.ts";
import type { Fields } from "../body/fields.ts";
import type { GuardedAnswer, GuardedRequest } from "./guarded-request.ts";
import { refusedTool } from "./offered-tools.ts";

/** Counts the tokens of a text, and of `otherInputsOf` a body. Neither throws. */
export type InputCounts = Pick<Bodies, "countTexts" | "countOtherInputs">;

/** What is compared with the guardrails of a key: an admission, or a prompt that is sent to be counted. */
type Guardable<Request> = Pick<AdmissionRequest, "guarded" | "inputTokens" | "verifyTee"> & {
  readonly counted?: (() => Promise<Request>) | undefined;
  readonly limitedTo?: ((tokens: number) => Request) | undefined;
};

/** The names of a limit on the answer, in every format. */
const OUTPUT_LIMITS = ["max_tokens", "max_completion_tokens", "max_output_tokens"];
/** Limits on the reasoning, which is part of an answer. */
const REASONING_LIMITS = [
  ["thinking", "budget_tokens"],
  ["reasoning", "max_tokens"],
] as const;
/** What the fields of a chat are called in a response. */
const RESPONSE_NAMES: Readonly<Record<string, string>> = {
  messages: "input",
  max_tokens: "max_output_tokens",
  response_format: "text",
  verbosity: "text",
  reasoning_effort: "reasoning",
  logprobs: "include",
};

/**
 * Checks a request against the guardrails of its key, and returns it with what they add: a limit on the answer where
 * the client sets none, and the verification of its signature. Throws `guardrail_violated`, naming the guardrail and
 * the field of the body. The prompt is only counted if its bound exceeds the limit.
 */
export async function guard<Request extends Guardable<Request>>(
  request: Request,
  guardrails: Guardrails,
  counts: InputCounts,
): Promise<Request> {
  const { guarded } = request;
  checkBody(guarded, guardrails);
  const perAnswer = checkAnswer(guarded, guardrails.maxOutputTokens);
  const counted = await checkInput(request, guardrails.maxInputTokens, counts);
  const limited = perAnswer === undefined ? counted : (counted.limitedTo?.(perAnswer) ?? counted);
  return guardrails.verifyTee && !limited.verifyTee ? verified(limited) : limited;
}

/** The request with its signature verified, also once it is counted. */
function verified<Request extends Guardable<Request>>(request: Request): Request {
  const { counted } = request;
  return { ...request, verifyTee: true, ...(counted && { counted: async () => verified(await counted()) }) };
}

/** Whether a key has any guardrail. */
export function hasGuardrails(guardrails: Guardrails): boolean {
  const { maxInputTokens, maxInputBytes, maxOutputTokens, allowedTools, blockedParameters, verifyTee } =
    guardrails;
  return (
    maxInputTokens !== null ||
    maxInputBytes !== null ||
    maxOutputTokens !== null ||
    allowedTools.length > 0 ||
    blockedParameters.length > 0 ||
    verifyTee
  );
}

function checkBody({ sizeBytes, fields, translated }: GuardedRequest, guardrails: Guardrails): void {
  const { maxInputBytes, blockedParameters, allowedTools } = guardrails;
  if (maxInputBytes !== null && sizeBytes > maxInputBytes)
    throw violated("max_input_bytes", "body", `the body has ${sizeBytes} bytes, of at most ${maxInputBytes}`);
  for (const name of blockedParameters) {
    const field = blockedField(name, fields, translated);
    if (field !== undefined) throw violated("blocked_parameters", field, `${field} may not be sent`);
  }
  if (allowedTools.length === 0) return;
  const tool = refusedTool(fields, allowedTools);
  if (!tool) return;
  const { field, place, name } = tool;
  const what = name === undefined ? "is no tool whose name can be allowed" : `is not an allowed tool`;
  const named = name === undefined ? place : `${place} (${JSON.stringify(name.slice(0, 128))})`;
  throw violated("allowed_tools", field, `${named} ${what}`);
}

/**
 * The field by which a body has a blocked parameter, as the client sent it: in any case, since some servers ignore it.
 * One that is null or false has no effect.
 */
function blockedField(name: string, fields: Fields, translated: Fields | undefined): string | undefined {
  const isSent = (body: Fields, field: string) =>
    Object.hasOwn(body, field) && body[field] != null && body[field] !== false;
  const blocked = new Set([name, `${name}[]`].map(foldedName));
  const sent = Object.keys(fields).find((field) => blocked.has(foldedName(field)) && isSent(fields, field));
  if (sent !== undefined) return sent;
  if (translated && isSent(translated, name)) return RESPONSE_NAMES[name] ?? name;
  return undefined;
}

/**
 * The limit that each answer gets; undefined if the client's own is within the guardrail, or the answer has no tokens.
 */
function checkAnswer({ fields, answer }: GuardedRequest, limit: number | null): number | undefined {
  if (limit === null || !answer) return undefined;
  const over = (field: string, tokens: unknown) => {
    if (typeof tokens === "number" && tokens > limit)
      throw violated("max_output_tokens", field, `${field} is ${tokens}, of at most ${limit}`);
  };
  for (const field of OUTPUT_LIMITS) over(field, fields[field]);
  for (const [field, member] of REASONING_LIMITS) {
    const reasoning = fields[field];
    if (typeof reasoning === "object" && reasoning !== null)
      over(`${field}.${member}`, (reasoning as Fields)[member]);
  }
  const { choices, maxTokens } = answer;
  const perAnswer = Math.floor(limit / choices);
  if ((maxTokens ?? 1) > perAnswer) throw tooManyAnswers(fields, answer, limit);
  return maxTokens === undefined ? perAnswer : undefined;
}

function tooManyAnswers(fields: Fields, { choices, maxTokens }: GuardedAnswer, limit: number): AppError {
  const field = typeof fields.n === "number" && fields.n > 1 ? "n" : "prompt";
  const each = maxTokens === undefined ? "" : ` of ${maxTokens} tokens each`;
  return violated(
    "max_output_tokens",
    field,
    `${field} asks for ${choices} answers${each}, of at most ${limit} together`,
  );
}

/** The request, counted if that was needed. */
async function checkInput<Request extends Guardable<Request>>(
  request: Request,
  limit: number | null,
  counts: InputCounts,
): Promise<Request> {
  if (limit === null) return request;
  const { prompt, texts } = request.guarded;
  const refuse = (tokens: number) =>
    violated("max_input_tokens", "body", `the prompt has ${tokens} tokens, of at most ${limit}`);
  if (texts) {
    const tokens = await counts.countTexts([texts().join("\n")]);
    if (tokens > limit) throw refuse(tokens);
    return request;
  }
  if (prompt && prompt.maxTokens <= limit) return request;
  const counted = (await request.counted?.()) ?? request;
  const others = prompt ? await counts.countOtherInputs(prompt.bytes) : 0;
  const tokens = (counted.inputTokens ?? 0) + others;
  if (tokens > limit) throw refuse(tokens);
  return counted;
}

function violated(guardrail: string, param: string, what: string): AppError {
  return new AppError(
    "guardrail_violated",
    `The guardrail ${guardrail} of this key does not allow the request: ${what}.`,
    {
      param,
    },
  );
}
