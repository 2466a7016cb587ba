import { AppError } from "../kernel/errors.ts";
import type { AdmittedChat, Ending, Trace } from "./admission.service.ts";
import { appendFields } from "./chat-request.ts";
import { DeliveredContent } from "./delivered.ts";
import { EventScanner, eventData } from "./event-scanner.ts";
import type { TokenUsage } from "./pricing.ts";
import type { ProviderExchange, ProviderHead, ProviderListener } from "./provider.client.ts";
import { refusalOf, unreachable } from "./provider-answer.ts";
import { readUsage } from "./usage.ts";

/** Where the events of a streamed answer go. */
export type ChatSink = {
  /** Called once, before the first write. */
  start(head: { readonly responseKey: string | undefined }): void;
  /** False when the reader is behind: then nothing more is written until `onDrain` tells. */
  write(bytes: Buffer): boolean;
  end(): void;
  isClosed(): boolean;
  onDrain(listener: () => void): void;
  onClose(listener: () => void): void;
};

const STALL_MS = 60_000;
const MAX_REFUSAL_BYTES = 65_536;
const DONE = Buffer.from("data: [DONE]\n\n");

/**
 * Passes a provider's events on to a client, byte for byte, and meters beside it. It keeps back only the usage chunk,
 * which is the router's to show or hide, and `[DONE]`, which is written when the bill is committed.
 */
export class ChatStream implements ProviderListener {
  readonly #chat: AdmittedChat;
  readonly #sink: ChatSink;
  readonly #wantsUsage: boolean;
  readonly #scanner = new EventScanner();
  readonly #delivered = new DeliveredContent();
  readonly #over = Promise.withResolvers<void>();
  #exchange: ProviderExchange | undefined;
  #head: ProviderHead | undefined;
  #refusal: Buffer[] = [];
  #usage: TokenUsage | undefined;
  #usageData: string | undefined;
  #finished = false;
  #started = false;
  #closed = false;
  #settled = false;
  #stall: NodeJS.Timeout | undefined;

  constructor(given: { chat: AdmittedChat; sink: ChatSink; wantsUsage: boolean }) {
    this.#chat = given.chat;
    this.#sink = given.sink;
    this.#wantsUsage = given.wantsUsage;
  }

  /** Whether the bill was made, or is being made. */
  get isSettled(): boolean {
    return this.#settled;
  }

  /** Follows the exchange to its end. Rejects when it failed before anything was written to the sink. */
  async run(exchange: ProviderExchange): Promise<void> {
    this.#exchange = exchange;
    this.#sink.onClose(() => this.#onClientLeft());
    this.#sink.onDrain(() => this.#onDrain());
    if (this.#sink.isClosed()) this.#onClientLeft();
    try {
      await this.#over.promise;
    } finally {
      clearTimeout(this.#stall);
    }
  }

  onHead(head: ProviderHead): void {
    this.#chat.markFirstByte();
    this.#head = head;
  }

  onChunk(chunk: Buffer): void {
    if (this.#closed) return;
    if (!this.#isEventStream()) {
      this.#keepRefusal(chunk);
      return;
    }
    try {
      for (const event of this.#scanner.push(chunk)) this.#onEvent(event);
    } catch (error) {
      this.#fail(error);
    }
  }

  onEnd(): void {
    if (this.#closed) return;
    if (!this.#isEventStream()) this.#fail(this.#refused());
    else if (this.#finished) this.#complete();
    else this.#fail(new Error("the provider's stream ended too early"));
  }

  onError(error: Error): void {
    this.#fail(error);
  }

  #isEventStream(): boolean {
    return this.#head?.status === 200 && this.#head.contentType.includes("text/event-stream");
  }

  #keepRefusal(chunk: Buffer): void {
    if (this.#refusal.reduce((sum, part) => sum + part.length, 0) < MAX_REFUSAL_BYTES)
      this.#refusal.push(chunk);
  }

  #refused(): AppError {
    const { status = 0 } = this.#head ?? {};
    if (status !== 200) return refusalOf(status, Buffer.concat(this.#refusal));
    return new AppError("provider_error", "The provider did not answer with a stream.");
  }

  #onEvent(event: Buffer): void {
    if (this.#closed) return;
    if (event.includes("[DONE]") && eventData(event) === "[DONE]") {
      this.#complete();
      return;
    }
    if (isError(event)) throw new Error("the provider sent an error event");
    if (event.includes('"finish_reason":"') || event.includes('"finish_reason": "')) this.#finished = true;
    if (event.includes('"usage"') && !event.includes('"usage":null') && this.#takeUsage(event)) return;
    this.#write(event);
    this.#delivered.add(event);
  }

  /** Whether the event is the usage chunk proper, with no choices, which is kept back. */
  #takeUsage(event: Buffer): boolean {
    const data = eventData(event);
    if (!data?.startsWith("{")) return false;
    const chunk = JSON.parse(data) as { usage?: unknown; choices?: unknown };
    const usage = readUsage(chunk.usage);
    if (usage) this.#usage = usage;
    if (!Array.isArray(chunk.choices) || chunk.choices.length > 0) return false;
    this.#usageData = data;
    return true;
  }

  #write(bytes: Buffer): void {
    if (!this.#started) {
      this.#started = true;
      this.#sink.start({ responseKey: this.#head?.responseKey });
    }
    if (this.#sink.write(bytes) || this.#stall) return;
    this.#exchange?.pause();
    this.#stall = setTimeout(() => this.#onClientLeft(), STALL_MS);
  }

  #onDrain(): void {
    clearTimeout(this.#stall);
    this.#stall = undefined;
    this.#exchange?.resume();
  }

  #onClientLeft(): void {
    if (!this.#close()) return;
    this.#exchange?.abort(new Error("the client left"));
    const ending: Ending = { outcome: "aborted", ...this.#deliveredUsage() };
    this.#settle(ending, () => this.#sink.end());
  }

  #complete(): void {
    if (!this.#close()) return;
    const stated = this.#usage ? { usage: this.#usage } : this.#countedUsage();
    this.#settle({ outcome: "completed", ...stated }, (trace) => {
      if (this.#wantsUsage && this.#usageData !== undefined) {
        const shown = appendFields(Buffer.from(this.#usageData), { x_0g_trace: trace });
        this.#write(Buffer.concat([Buffer.from("data: "), shown, Buffer.from("\n\n")]));
      } else this.#write(Buffer.from(`: x_0g_trace ${JSON.stringify(trace)}\n\n`));
      this.#write(DONE);
      this.#sink.end();
    });
  }

  #fail(error: unknown): void {
    if (!this.#close()) return;
    this.#exchange?.abort(new Error("the answer failed"));
    const failure = error instanceof AppError ? error : unreachable(error);
    if (!this.#started) {
      this.#over.reject(failure);
      return;
    }
    const ending: Ending = { outcome: "failed", errorCode: failure.code, ...this.#deliveredUsage() };
    this.#settle(ending, () => {
      const told = {
        message: "The provider broke off.",
        type: "api_error",
        code: "upstream_error",
        param: null,
      };
      this.#write(Buffer.from(`data: ${JSON.stringify({ error: told })}\n\n`));
      this.#sink.end();
    });
  }

  /** Whether the answer ends just now. Aborting an exchange calls `onError` at once, which must not end it again. */
  #close(): boolean {
    if (this.#closed) return false;
    this.#closed = true;
    return true;
  }

  /** What is billed for a part: the provider's count if it came, else ours; nothing if nothing was delivered. */
  #deliveredUsage(): Pick<Ending, "usage" | "estimated"> {
    if (this.#delivered.isEmpty) return {};
    return this.#usage ? { usage: this.#usage } : this.#countedUsage();
  }

  #countedUsage(): Pick<Ending, "usage" | "estimated"> {
    const outputTokens = this.#delivered.countTokens();
    return { usage: { inputTokens: this.#chat.promptTokens, outputTokens }, estimated: true };
  }

  #settle(ending: Ending, then: (trace: Trace) => void): void {
    this.#settled = true;
    this.#chat.settle(ending).then(then).then(this.#over.resolve, this.#over.reject);
  }
}

function isError(event: Buffer): boolean {
  const data = event.subarray(0, 64).toString("latin1");
  return /^(event: ?error\r?\n)?data: ?\{\s*"error"\s*:/.test(data);
}
