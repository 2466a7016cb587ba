import type {
  PostOptions,
  ProviderClient,
} from "../../../src/inference/providers/exchange/provider.client.ts";
import type { ProviderListener } from "../../../src/inference/providers/exchange/provider-exchange.ts";
import type { Provider } from "../../../src/inference/providers/provider.ts";
import type { SimProcess } from "./gate.ts";

/** A running exchange, on the provider's side. */
export type SimExchange = {
  readonly kind: "chat" | "submit" | "poll";
  /** The id of the chat, or of the job. */
  readonly subject: string;
  /** Of a submission: the key by which the provider can recognise a repeat. */
  readonly key: string;
  readonly provider: Provider;
  readonly process: number;
  readonly listener: ProviderListener;
  isOpen: boolean;
  /** The number of chat words it has answered. */
  words: number;
  /**
   * The valid usage that it reported: the prompt, and the answer at the time when so many words had been
   * sent.
   */
  input: number | undefined;
  output: { readonly tokens: number; readonly words: number };
};

/** The usage that a simulated provider reports for an answer. */
export type StatedUsage = { readonly inputTokens: number; readonly outputTokens: number };

/** The word that answers consist of: one token each. */
export const WORD = " sea";
const IMAGE = "aGVsbG8=";
const KEY = /^(.*)-\d+$/;

/** Providers in memory: they answer when and how the simulation decides. */
export class SimProviders {
  /** The open ones, oldest first. */
  readonly exchanges: SimExchange[] = [];
  readonly #opened: (exchange: SimExchange) => void;
  /** The job of each id that a provider assigned. */
  readonly #jobs = new Map<string, string>();

  /** `opened` is called with every exchange before anything of it is answered. */
  constructor(opened: (exchange: SimExchange) => void) {
    this.#opened = opened;
  }

  /** What a process calls in place of the HTTP client. */
  client(process: SimProcess): ProviderClient {
    const open = async (
      what: Pick<SimExchange, "kind" | "subject" | "key" | "provider">,
      listener: ProviderListener,
    ) => {
      if (!process.alive) return new Promise<never>(() => {});
      const exchange: SimExchange = {
        ...what,
        process: process.id,
        listener,
        isOpen: true,
        words: 0,
        input: undefined,
        output: { tokens: 0, words: 0 },
      };
      this.exchanges.push(exchange);
      this.#opened(exchange);
      return {
        abort: (reason: Error) => this.#close(exchange, () => listener.onError(reason)),
        pause() {},
        resume() {},
      };
    };
    const post = async (
      provider: Provider,
      path: string,
      body: Buffer,
      listener: ProviderListener,
      { headers }: PostOptions = {},
    ) => {
      const { user } = JSON.parse(body.toString()) as { user?: string };
      if (path === "/chat/completions")
        return open({ kind: "chat", subject: user ?? "", key: "", provider }, listener);
      const key = headers?.["idempotency-key"] ?? "";
      return open({ kind: "submit", subject: KEY.exec(key)?.[1] ?? "", key, provider }, listener);
    };
    const get = async (provider: Provider, path: string, listener: ProviderListener) => {
      const [, id = ""] = /\/async\/jobs\/([^?]*)/.exec(path) ?? [];
      return open({ kind: "poll", subject: this.#jobs.get(id) ?? "", key: "", provider }, listener);
    };
    return { post, get } as unknown as ProviderClient;
  }

  /** Sends a whole answer: `words` tokens long, with the usage reported or not. */
  answer(exchange: SimExchange, words: number, usage: StatedUsage | undefined): void {
    this.#reply(exchange, 200, {
      choices: [{ message: { role: "assistant", content: WORD.repeat(words) }, finish_reason: "stop" }],
      ...(usage && { usage: toWire(usage) }),
    });
  }

  /** Accepts a job. */
  accept(exchange: SimExchange): void {
    const jobId = `sim-${this.#jobs.size}`;
    this.#jobs.set(jobId, exchange.subject);
    this.#reply(exchange, 202, { jobId, status: "pending" });
  }

  /** Answers a submission, or a poll, with so many images. */
  deliver(exchange: SimExchange, images: number): void {
    const result = { created: 1, data: Array.from({ length: images }, () => ({ b64_json: IMAGE })) };
    this.#reply(exchange, 200, exchange.kind === "submit" ? result : { status: "completed", data: result });
  }

  /** Answers a poll with the state of the job. */
  report(exchange: SimExchange, status: "processing" | "failed", progress?: number): void {
    this.#reply(exchange, 200, { status, progress });
  }

  /** Refuses: an error status, or 200 with a page that is not an answer. */
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

  /** The regular end of a stream. */
  finish(exchange: SimExchange): void {
    this.#event(exchange, { choices: [{ delta: {}, finish_reason: "stop" }] });
    if (exchange.isOpen) exchange.listener.onChunk(Buffer.from("data: [DONE]\n\n"));
    this.#close(exchange, () => exchange.listener.onEnd());
  }

  /** The connection to the provider breaks. */
  cut(exchange: SimExchange): void {
    this.#close(exchange, () => exchange.listener.onError(new Error("the line broke")));
  }

  /** A process died, and its connections with it. */
  drop(process: number): void {
    for (const exchange of this.exchanges.filter((open) => open.process === process))
      this.#close(exchange, () => {});
  }

  #reply(exchange: SimExchange, status: number, body: object): void {
    this.#head(exchange, status, "application/json");
    exchange.listener.onChunk(Buffer.from(JSON.stringify(body)));
    this.#close(exchange, () => exchange.listener.onEnd());
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
