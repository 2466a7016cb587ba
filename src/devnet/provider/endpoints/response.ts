import { randomUUID } from "node:crypto";
import { z } from "zod";
import { type Completion, chatRequestSchema, composeCompletion, inChunks } from "./completion.ts";

type Fields = Readonly<Record<string, unknown>>;

const MAX_KEPT = 1_000;

const schema = z.looseObject({
  model: z.string(),
  input: z.union([z.string().min(1), z.array(z.looseObject({ type: z.string().optional() })).min(1)]),
  instructions: z.string().nullish(),
  stream: z.boolean().nullish(),
  max_output_tokens: z.int().min(1).nullish(),
  tools: z.array(z.looseObject({ type: z.string(), name: z.string().optional() })).nullish(),
  tool_choice: z
    .union([
      z.string(),
      z.looseObject({
        name: z.string().optional(),
        tools: z.array(z.looseObject({ name: z.string().optional() })).optional(),
      }),
    ])
    .nullish(),
  text: z
    .looseObject({ format: z.looseObject({ type: z.string(), schema: z.unknown().optional() }).nullish() })
    .nullish(),
  store: z.boolean().nullish(),
  previous_response_id: z.string().nullish(),
});

/** A request for a response, as far as the stand-in provider reads it. */
export type ResponsesRequest = z.infer<typeof schema>;

/** Reads a request from JSON text; undefined if it is not one. */
export function readResponsesRequest(json: string): ResponsesRequest | undefined {
  try {
    return schema.safeParse(JSON.parse(json)).data;
  } catch {
    return undefined;
  }
}

/** The conversations of stored responses, by their id. The oldest is dropped for the 1,001st. */
export class KeptResponses {
  readonly #conversations = new Map<string, readonly object[]>();

  /** The conversation so far; undefined if the request continues a response that is not stored. */
  before({ previous_response_id: id }: ResponsesRequest): readonly object[] | undefined {
    return id == null ? [] : this.#conversations.get(id);
  }

  /** Stores the conversation that ends with a response, without instructions, which OpenAI does not carry over. */
  keep(id: string, conversation: readonly object[]): void {
    this.#conversations.set(id, conversation);
    const [oldest] = this.#conversations.keys();
    if (oldest !== undefined && this.#conversations.size > MAX_KEPT) this.#conversations.delete(oldest);
  }
}

/** The input of a request as messages of a chat. */
export function inputMessages({ input }: ResponsesRequest): readonly object[] {
  return typeof input === "string" ? [{ role: "user", content: input }] : itemMessages(input);
}

/** Items as messages of a chat. */
export function itemMessages(items: readonly Fields[]): readonly object[] {
  return items.map(messageOf);
}

function messageOf(item: Fields): object {
  if (typeof item.role === "string") return { role: item.role, content: item.content };
  if (String(item.type).endsWith("_output")) return { role: "tool", content: item.output };
  return { role: "assistant", content: JSON.stringify(item) };
}

/** Generates the response to a conversation, like that of a chat. */
export function composeResponse(
  { model, max_output_tokens, tools, tool_choice: choice, text }: ResponsesRequest,
  messages: readonly object[],
  promptTokens: number,
): Completion {
  const format = text?.format;
  const { name: chosen, tools: allowed } = typeof choice === "object" && choice !== null ? choice : {};
  const offered = tools?.filter(({ name }) => !allowed || allowed.some((tool) => tool.name === name));
  const chat = chatRequestSchema.parse({
    model,
    messages,
    max_tokens: max_output_tokens,
    tools: offered?.map((tool) => ({
      function: { name: tool.name ?? tool.type, parameters: tool.parameters },
    })),
    tool_choice: typeof choice === "string" ? choice : chosen && { function: { name: chosen } },
    ...(format && { response_format: { type: format.type, json_schema: { schema: format.schema } } }),
  });
  return composeCompletion(chat, promptTokens);
}

/** A response: its id, the items of its output, the whole form, and the streamed form, one event per item. */
export type ComposedResponse = {
  readonly id: string;
  readonly output: readonly Fields[];
  readonly whole: string;
  readonly events: readonly string[];
};

/** Writes a response. `usageJson` replaces the true usage; `chunks` is the number of parts of a streamed text. */
export function toResponse(
  request: ResponsesRequest,
  completion: Completion,
  { usageJson, chunks }: { readonly usageJson?: string | undefined; readonly chunks?: number | undefined },
): ComposedResponse {
  const suffix = randomUUID().replaceAll("-", "");
  const id = `resp_${suffix}`;
  const isCut = completion.finishReason === "length";
  const status = isCut ? "incomplete" : "completed";
  const item = itemOf(request, completion, suffix);
  const output = [{ ...item.whole, status }];
  const begun = JSON.stringify(stateOf(request, id, { status: "in_progress", output: [], usage: null }));
  const incomplete_details = isCut ? { reason: "max_output_tokens" } : null;
  const ended = JSON.stringify(stateOf(request, id, { status, output, incomplete_details }));
  const whole = `${ended.slice(0, -1)},"usage":${usageJson ?? usageOf(completion)}}`;
  const states = (type: string, response: string) => (number: number) =>
    event(type, `{"type":"${type}","sequence_number":${number},"response":${response}}`);
  const steps = (fields: Fields & { readonly type: string }) => (number: number) =>
    event(fields.type, JSON.stringify({ ...fields, sequence_number: number, output_index: 0 }));
  const events = [
    states("response.created", begun),
    states("response.in_progress", begun),
    steps({ type: "response.output_item.added", item: { ...item.empty, status: "in_progress" } }),
    ...item.steps(chunks).map((step) => steps({ item_id: item.id, ...step })),
    steps({ type: "response.output_item.done", item: output[0] }),
    states(`response.${status}`, whole),
  ].map((write, number) => write(number));
  return { id, output, whole, events };
}

/** A response in a state, with the settings that OpenAI's repeat. */
function stateOf(request: ResponsesRequest, id: string, state: object): object {
  const { model, instructions = null, max_output_tokens = null, tools, tool_choice, text } = request;
  const { metadata = {}, temperature = 1 } = request;
  return {
    ...{ id, object: "response", created_at: Math.floor(Date.now() / 1_000), error: null },
    ...{ incomplete_details: null, instructions, max_output_tokens, model, metadata },
    ...{ parallel_tool_calls: true, previous_response_id: request.previous_response_id ?? null },
    ...{ reasoning: { effort: null, summary: null }, store: request.store ?? true, temperature },
    ...{ text: { format: { type: "text" }, ...text }, tool_choice: tool_choice ?? "auto" },
    ...{ tools: tools ?? [], top_p: 1, truncation: "disabled", user: null },
    ...state,
  };
}

type Step = Fields & { readonly type: string };
type Item = {
  readonly id: string;
  readonly empty: Fields;
  readonly whole: Fields;
  /** The events between its beginning and its end. */
  steps(chunks: number | undefined): readonly Step[];
};

function itemOf({ tools }: ResponsesRequest, { pieces, toolCall }: Completion, suffix: string): Item {
  if (!toolCall) return messageItem(`msg_${suffix}`, pieces);
  const { id: call_id, name, argumentsJson } = toolCall;
  const isCustom = tools?.some((tool) => tool.type === "custom" && tool.name === name) ?? false;
  const [type, member, events] = isCustom
    ? (["custom_tool_call", "input", "response.custom_tool_call_input"] as const)
    : (["function_call", "arguments", "response.function_call_arguments"] as const);
  const item = { id: `${isCustom ? "ctc" : "fc"}_${suffix}`, type, call_id, name };
  const middle = Math.ceil(argumentsJson.length / 2);
  const parts = [argumentsJson.slice(0, middle), argumentsJson.slice(middle)];
  return {
    id: item.id,
    empty: { ...item, [member]: "" },
    whole: { ...item, [member]: argumentsJson },
    steps: () => [
      ...parts.map((delta) => ({ type: `${events}.delta`, delta })),
      { type: `${events}.done`, name, [member]: argumentsJson },
    ],
  };
}

function messageItem(id: string, pieces: readonly string[]): Item {
  const part = (text: string) => ({ type: "output_text", text, annotations: [], logprobs: [] });
  const item = { id, type: "message", role: "assistant" };
  const text = pieces.join("");
  const at = { content_index: 0 };
  return {
    id,
    empty: { ...item, content: [] },
    whole: { ...item, content: [part(text)] },
    steps: (chunks) => [
      { type: "response.content_part.added", ...at, part: part("") },
      ...inChunks(pieces, chunks).map((delta) => ({
        type: "response.output_text.delta",
        ...at,
        delta,
        logprobs: [],
      })),
      { type: "response.output_text.done", ...at, text, logprobs: [] },
      { type: "response.content_part.done", ...at, part: part(text) },
    ],
  };
}

function usageOf({ usageJson }: Completion): string {
  const { prompt_tokens = 0, completion_tokens = 0 } = JSON.parse(usageJson) as Record<string, number>;
  return JSON.stringify({
    input_tokens: prompt_tokens,
    input_tokens_details: { cached_tokens: 0, cache_write_tokens: 0 },
    output_tokens: completion_tokens,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: prompt_tokens + completion_tokens,
  });
}

function event(type: string, data: string): string {
  return `event: ${type}\ndata: ${data}\n\n`;
}
