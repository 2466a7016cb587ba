import { type ChatRequest, type Completion, chatRequestSchema, composeCompletion } from "./completion.ts";

/** A parsed request body with its response. */
export type Composed = { readonly request: ChatRequest; readonly completion: Completion };

const MAX_REMEMBERED_BODY = 16 * 1024;
const MAX_REMEMBERED = 256;

/** Composes responses. Benchmarks repeat a body thousands of times a second: only the first is parsed. */
export class Composer {
  readonly #countTokens: (messages: readonly unknown[]) => number | Promise<number>;
  readonly #cache = new Map<string, Composed>();

  /** `countTokens` counts the prompt tokens of a conversation. */
  constructor(countTokens: (messages: readonly unknown[]) => number | Promise<number>) {
    this.#countTokens = countTokens;
  }

  /** The response to this JSON text; undefined if it is not a chat request. */
  async compose(body: string): Promise<Composed | undefined> {
    const cached = this.#cache.get(body);
    if (cached) return cached;
    const request = parseChatRequest(body);
    if (!request) return undefined;
    const promptTokens = await this.#countTokens(request.messages);
    const composed = { request, completion: composeCompletion(request, promptTokens) };
    if (body.length > MAX_REMEMBERED_BODY) return composed;
    if (this.#cache.size >= MAX_REMEMBERED) this.#cache.clear();
    this.#cache.set(body, composed);
    return composed;
  }
}

function parseChatRequest(body: string): ChatRequest | undefined {
  try {
    return chatRequestSchema.safeParse(JSON.parse(body)).data;
  } catch {
    return undefined;
  }
}
