import { TEXT, USAGE, WORDS } from "./scripted-provider.ts";

/** The usage of a normal response. */
const RESPONSE_USAGE = {
  input_tokens: USAGE.prompt_tokens,
  input_tokens_details: { cached_tokens: 0 },
  output_tokens: USAGE.completion_tokens,
  output_tokens_details: { reasoning_tokens: 0 },
  total_tokens: USAGE.total_tokens,
};
const HEAD = { id: "resp_theirs", object: "response", created_at: 1_700_000_000, model: "theirs" };
const PART = { type: "output_text", text: TEXT, annotations: [] };
const ITEM = { id: "msg_theirs", type: "message", role: "assistant" };
const OUTPUT = [{ ...ITEM, status: "completed", content: [PART] }];

/** A normal response, whole. */
export function nativeResponse(fields: object = {}): object {
  return { ...HEAD, status: "completed", error: null, output: OUTPUT, usage: RESPONSE_USAGE, ...fields };
}

/** One event of a stream. */
function responseEvent(type: string, number: number, fields: object): string {
  const data = JSON.stringify({ type, sequence_number: number, ...fields });
  return `event: ${type}\ndata: ${data}\n\n`;
}

const begun = nativeResponse({ status: "in_progress", output: [], usage: null });
const at = { item_id: ITEM.id, output_index: 0, content_index: 0 };

/** The events before the first content of a normal stream. */
export const RESPONSE_HEAD = [
  responseEvent("response.created", 0, { response: begun }),
  responseEvent("response.in_progress", 1, { response: begun }),
  responseEvent("response.output_item.added", 2, {
    output_index: 0,
    item: { ...ITEM, status: "in_progress", content: [] },
  }),
  responseEvent("response.content_part.added", 3, { ...at, part: { ...PART, text: "" } }),
];

/** Those with its words. */
export const RESPONSE_WORDS = WORDS.map((delta, n) =>
  responseEvent("response.output_text.delta", RESPONSE_HEAD.length + n, { ...at, delta, logprobs: [] }),
);

/** Those after its words; the last event has the whole response, with these fields. */
export function responseTail(fields: object = {}): readonly string[] {
  const from = RESPONSE_HEAD.length + WORDS.length;
  return [
    responseEvent("response.output_text.done", from, { ...at, text: TEXT, logprobs: [] }),
    responseEvent("response.content_part.done", from + 1, { ...at, part: PART }),
    responseEvent("response.output_item.done", from + 2, { output_index: 0, item: OUTPUT[0] }),
    responseEvent("response.completed", from + 3, { response: nativeResponse(fields) }),
  ];
}

/** The events of a normal stream. */
export function nativeEvents(fields: object = {}): readonly string[] {
  return [...RESPONSE_HEAD, ...RESPONSE_WORDS, ...responseTail(fields)];
}
