import { demand } from "../fault.ts";
import type { SimExchange, StatedUsage } from "./provider.ts";

/** How a chat ended, as seen from outside the product; `owed` is neuron. */
type Over = { readonly outcome: "completed" | "failed" | "aborted"; readonly owed: bigint };

/** The maximum tokens of an answer without a limit by the client. */
export const ANSWER_LIMIT = 12;
/** The maximum number of attempts of one chat. */
export const TRIES = 3;

/** One chat of a simulated client: its request, the behaviour of its providers, and the resulting charge. */
export class SimChat {
  readonly id: string;
  readonly process: number;
  readonly account: string;
  readonly keyId: string;
  readonly isStream: boolean;
  readonly promptTokens: number;
  readonly maxTokens: number | undefined;
  /** Whether its router resumes broken streams. */
  readonly resumes: boolean;
  readonly leave: () => void;
  /** It was affected by something outside the product's control: its charge may be zero. */
  isDisturbed = false;
  /** Its process lost its lease, and with it what was set aside for this request: any part of its cost may be charged. */
  isUncovered = false;
  /** The charge in the answer to the client, neuron; undefined until it has a whole answer. */
  bill: bigint | undefined;
  /** Whether the product is done with it. */
  isAnswered = false;
  hasLeft = false;
  /** The number of words delivered to the client. */
  words = 0;
  /** The number of providers chosen for it. */
  candidates = 0;
  /** After this no provider may be called for it. */
  untilMs = Number.POSITIVE_INFINITY;
  readonly #tried: SimExchange[] = [];
  /** The provider of the last delivered word. */
  #by: SimExchange | undefined;
  #over: Over | undefined;
  #isLate = false;

  constructor(
    given: Pick<
      SimChat,
      "id" | "process" | "account" | "keyId" | "isStream" | "promptTokens" | "maxTokens" | "resumes" | "leave"
    >,
  ) {
    this.id = given.id;
    this.process = given.process;
    this.account = given.account;
    this.keyId = given.keyId;
    this.isStream = given.isStream;
    this.promptTokens = given.promptTokens;
    this.maxTokens = given.maxTokens;
    this.resumes = given.resumes;
    this.leave = given.leave;
  }

  get over(): Over | undefined {
    return this.#over;
  }

  /** The product calls a provider for it. */
  tried(exchange: SimExchange): void {
    const { id, words, candidates } = this;
    demand(!this.#over && !this.hasLeft, `a provider was called for ${id} after its end`);
    demand(!this.#tried.some(({ isOpen }) => isOpen), `two providers were called for ${id} at once`);
    demand(this.#tried.length < TRIES, `providers were called ${this.#tried.length + 1} times for ${id}`);
    demand(words === 0 || this.resumes, `another provider was called for ${id} after ${words} words`);
    const isAgain = this.#tried.some(({ provider }) => provider === exchange.provider);
    demand(
      !isAgain || this.#asked() >= candidates,
      `a provider was called twice for ${id} before another was called once`,
    );
    this.#tried.push(exchange);
  }

  /** A provider streamed something. */
  streamed(exchange: SimExchange): void {
    if (exchange.words <= this.words) return;
    this.words = exchange.words;
    this.#by = exchange;
  }

  /** A provider reports its usage so far; more words than requested are invalid. */
  stated(exchange: SimExchange, { inputTokens, outputTokens }: StatedUsage): void {
    exchange.input = inputTokens;
    if (outputTokens <= this.#maxWords) exchange.output = { tokens: outputTokens, words: exchange.words };
  }

  /** A provider ended its answer: one shorter than what was delivered is a different answer. */
  completed(exchange: SimExchange): void {
    if (exchange.words < this.words) this.failed();
    else this.#end({ outcome: "completed", owed: this.#costOf(exchange) });
  }

  /** A provider failed; another one may take over, or not. */
  tryFailed(): void {
    if (this.words > 0 && !this.resumes) this.failed();
  }

  /** The product gave up. */
  gaveUp(nowMs: number): void {
    if (this.#over) return;
    const wanted = Math.min(TRIES, this.candidates);
    const asked = this.#asked();
    demand(asked >= wanted || nowMs >= this.untilMs, `${this.id} was given up after ${asked} of ${wanted}`);
    this.failed();
  }

  failed(): void {
    this.#end({ outcome: "failed", owed: this.#delivered() });
  }

  /**
   * Whether this is how it ended. When a client disconnects while no provider is being called, the product
   * may have given up just before.
   */
  mayBe(status: string): boolean {
    return status === this.#over?.outcome || (status === "failed" && this.#isLate);
  }

  /** The client disconnected. */
  left(): void {
    this.hasLeft = true;
    this.#isLate = !this.#over && this.#tried.length > 0 && !this.#tried.some(({ isOpen }) => isOpen);
    this.#end({ outcome: "aborted", owed: this.#delivered() });
  }

  #end(over: Over): void {
    this.#over ??= over;
  }

  #asked(): number {
    return new Set(this.#tried.map(({ provider }) => provider)).size;
  }

  /** Delivered parts are charged, incomplete answers that are not streamed never. */
  #delivered(): bigint {
    return this.isStream && this.#by ? this.#costOf(this.#by) : 0n;
  }

  /** The valid usage that the provider reported, and the words counted beside or after it; at its price. */
  #costOf({ provider, input = this.promptTokens, output, words }: SimExchange): bigint {
    const outputTokens = Math.min(output.tokens + words - output.words, this.#maxWords);
    return BigInt(input) * provider.inputPrice + BigInt(outputTokens) * provider.outputPrice;
  }

  get #maxWords(): number {
    return this.maxTokens ?? ANSWER_LIMIT;
  }
}
