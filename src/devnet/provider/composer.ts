import { type ChatRequest, type Completion, chatRequestSchema, composeCompletion } from "./completion.ts";

/** A request body, read, with the answer that it will get. */
export type Composed = { readonly request: ChatRequest; readonly completion: Completion };

const MAX_REMEMBERED_BODY = 16 * 1024;
const MAX_REMEMBERED = 256;

/** Composes answers to request bodies. Benchmarks repeat a body thousands of times a second: only the first is parsed. */
export class Composer {
  readonly #countTokens: (messages: readonly unknown[]) => number | Promise<number>;
  readonly #remembered = new Map<string, Composed>();

  /** `countTokens` counts the prompt of a conversation. */
  constructor(countTokens: (messages: readonly unknown[]) => number | Promise<number>) {
    this.#countTokens = countTokens;
  }

  /** The answer to this JSON text, or undefined when it is not a chat request. */
  async compose(body: string): Promise<Composed | undefined> {
    const remembered = this.#remembered.get(body);
    if (remembered) return remembered;
    const request = parseChatRequest(body);
    if (!request) return undefined;
    const promptTokens = await this.#countTokens(request.messages);
    const composed = { request, completion: composeCompletion(request, promptTokens) };
    if (body.length > MAX_REMEMBERED_BODY) return composed;
    if (this.#remembered.size >= MAX_REMEMBERED) this.#remembered.clear();
    this.#remembered.set(body, composed);
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
