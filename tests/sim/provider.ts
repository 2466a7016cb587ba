import type { ProviderClient, ProviderListener } from "../../src/inference/provider.client.ts";
import type { Provider } from "../../src/inference/provider.ts";

/** An exchange under way, as the provider has it. */
export type SimExchange = {
  readonly request: string;
  readonly process: number;
  readonly listener: ProviderListener;
  isOpen: boolean;
};

/** What a simulated provider says of what an answer used. */
export type StatedUsage = { readonly inputTokens: number; readonly outputTokens: number };

/** The word that answers are made of: one token each. */
const WORD = " sea";

/** Providers in memory: they answer when and how the simulation says. */
export class SimProviders {
  /** Those that are open, oldest first. */
  readonly exchanges: SimExchange[] = [];

  /** What a process calls in place of the HTTP client. */
  client(process: { readonly id: number }): ProviderClient {
    const post = async (_: Provider, __: string, body: Buffer, listener: ProviderListener) => {
      const { user } = JSON.parse(body.toString()) as { user: string };
      const exchange: SimExchange = { request: user, process: process.id, listener, isOpen: true };
      this.exchanges.push(exchange);
      return {
        abort: (reason: Error) => this.#close(exchange, () => listener.onError(reason)),
        pause() {},
        resume() {},
      };
    };
    return { post } as unknown as ProviderClient;
  }

  /** Answers a whole answer: `words` tokens long, with the usage stated or not. */
  answer(exchange: SimExchange, words: number, usage: StatedUsage | undefined): void {
    const body = {
      choices: [{ message: { role: "assistant", content: WORD.repeat(words) }, finish_reason: "stop" }],
      ...(usage && { usage: toWire(usage) }),
    };
    this.#head(exchange, 200, "application/json");
    exchange.listener.onChunk(Buffer.from(JSON.stringify(body)));
    this.#close(exchange, () => exchange.listener.onEnd());
  }

  /** Refuses: an error status, or 200 with a page that is no answer. */
  refuse(exchange: SimExchange, status: number): void {
    this.#head(exchange, status, "text/html");
    exchange.listener.onChunk(Buffer.from("<h1>no</h1>"));
    this.#close(exchange, () => exchange.listener.onEnd());
  }

  /** One event of a stream with so many words. */
  stream(exchange: SimExchange, words: number): void {
    this.#head(exchange, 200, "text/event-stream");
    this.#event(exchange, { choices: [{ delta: { content: WORD.repeat(words) } }] });
  }

  /** The usage chunk of a stream. */
  state(exchange: SimExchange, usage: StatedUsage): void {
    this.#event(exchange, { choices: [], usage: toWire(usage) });
  }

  /** The end of a stream as it should be. */
  finish(exchange: SimExchange): void {
    this.#event(exchange, { choices: [{ delta: {}, finish_reason: "stop" }] });
    if (exchange.isOpen) exchange.listener.onChunk(Buffer.from("data: [DONE]\n\n"));
    this.#close(exchange, () => exchange.listener.onEnd());
  }

  /** The line to the provider breaks. */
  cut(exchange: SimExchange): void {
    this.#close(exchange, () => exchange.listener.onError(new Error("the line broke")));
  }

  /** A process died, and its lines with it. */
  drop(process: number): void {
    for (const exchange of this.exchanges.filter((open) => open.process === process))
      this.#close(exchange, () => {});
  }

  #head(exchange: SimExchange, status: number, contentType: string): void {
    exchange.listener.onHead({ status, contentType, responseKey: undefined });
  }

  #event(exchange: SimExchange, data: object): void {
    exchange.listener.onChunk(Buffer.from(`data: ${JSON.stringify(data)}\n\n`));
  }

  #close(exchange: SimExchange, then: () => void): void {
    if (!exchange.isOpen) return;
    exchange.isOpen = false;
    this.exchanges.splice(this.exchanges.indexOf(exchange), 1);
    then();
  }
}

function toWire({ inputTokens, outputTokens }: StatedUsage) {
  return { prompt_tokens: inputTokens, completion_tokens: outputTokens };
}
