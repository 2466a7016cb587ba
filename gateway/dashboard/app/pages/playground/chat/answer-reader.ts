import { billOf } from "../api/bill.ts";
import type { Answer, ToolCall } from "./conversation.ts";

type Delta = {
  readonly content?: unknown;
  readonly reasoning_content?: unknown;
  readonly reasoning?: unknown;
  readonly tool_calls?: unknown;
};
type CallPart = {
  readonly index?: unknown;
  readonly id?: unknown;
  readonly function?: { readonly name?: unknown; readonly arguments?: unknown };
};

/** More is not shown: the provider would have to send it for minutes. */
const MAX_TEXT = 1_000_000;
const MAX_CALLS = 64;

/** Puts an answer together from the chunks of a streamed chat completion. */
export class AnswerReader {
  readonly #model: string;
  readonly #startedAt: number;
  #text = "";
  #reasoning = "";
  readonly #calls: { id: string; name: string; argumentsJson: string }[] = [];
  #firstTokenMs: number | undefined;
  #rest: Partial<Answer> = {};

  /** `startedAt` is when the request was sent, in the time of `performance.now`. */
  constructor(model: string, startedAt: number) {
    this.#model = model;
    this.#startedAt = startedAt;
  }

  /** Takes the id of the request from the headers of its answer. */
  begin(requestId: string | null): void {
    if (requestId) this.#rest = { ...this.#rest, requestId };
  }

  /** Reads a chunk at a time of `performance.now`. */
  read(chunk: unknown, now: number): void {
    const { choices, usage, x_0g_trace: trace } = asRecord(chunk);
    const { delta } = asRecord(Array.isArray(choices) ? choices[0] : undefined);
    this.#readDelta(asRecord(delta), now);
    const { prompt_tokens: input, completion_tokens: output } = asRecord(usage);
    if (typeof input === "number") this.#rest = { ...this.#rest, inputTokens: input };
    if (typeof output === "number") this.#rest = { ...this.#rest, outputTokens: output };
    const bill = billOf(trace);
    if (bill) this.#rest = { ...this.#rest, bill };
  }

  /** The answer so far. */
  answer(state: Answer["state"], now: number): Answer {
    return {
      kind: "answer",
      model: this.#model,
      state,
      text: this.#text,
      reasoning: this.#reasoning,
      toolCalls: this.#calls.map((call): ToolCall => ({ ...call })),
      firstTokenMs: this.#firstTokenMs,
      ...(state !== "coming" && { totalMs: now - this.#startedAt }),
      ...this.#rest,
    };
  }

  #readDelta(
    { content, reasoning_content: reasoning, reasoning: other, tool_calls: calls }: Delta,
    now: number,
  ) {
    const parts = Array.isArray(calls) ? (calls as readonly CallPart[]) : [];
    const thought = textOf(reasoning) || textOf(other);
    const said = textOf(content);
    if (said === "" && thought === "" && parts.length === 0) return;
    this.#firstTokenMs ??= now - this.#startedAt;
    if (this.#text.length < MAX_TEXT) this.#text += said;
    if (this.#reasoning.length < MAX_TEXT) this.#reasoning += thought;
    for (const part of parts) this.#readCall(part);
  }

  #readCall({ index, id, function: called }: CallPart): void {
    const at = typeof index === "number" ? index : this.#calls.length;
    if (!Number.isInteger(at) || at < 0 || at >= MAX_CALLS) return;
    while (this.#calls.length <= at) this.#calls.push({ id: "", name: "", argumentsJson: "" });
    const call = this.#calls[at];
    if (!call) return;
    call.id ||= textOf(id);
    call.name ||= textOf(called?.name);
    if (call.argumentsJson.length < MAX_TEXT) call.argumentsJson += textOf(called?.arguments);
  }
}

/** Tokens per second after the first one; undefined for too few of them. */
export function tokensPerSecond({ outputTokens, firstTokenMs, totalMs }: Answer): number | undefined {
  if (outputTokens === undefined || firstTokenMs === undefined || totalMs === undefined) return undefined;
  const durationMs = totalMs - firstTokenMs;
  return outputTokens > 1 && durationMs >= 1 ? ((outputTokens - 1) / durationMs) * 1_000 : undefined;
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

function asRecord(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null ? (value as Readonly<Record<string, unknown>>) : {};
}
