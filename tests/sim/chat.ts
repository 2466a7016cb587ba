import type { StatedUsage } from "./provider.ts";

/** How a chat ended, as seen from outside the product. */
type Over = { readonly outcome: "completed" | "failed" | "aborted"; readonly owed: StatedUsage | undefined };

/** One chat of a simulated client: what it asked, what its provider did, and so what it owes. */
export class SimChat {
  readonly id: string;
  readonly process: number;
  readonly account: string;
  readonly keyId: string;
  readonly isStream: boolean;
  readonly promptTokens: number;
  readonly maxTokens: number | undefined;
  readonly leave: () => void;
  /** Something out of the product's hands befell it: then its bill may be zero. */
  isDisturbed = false;
  /** What the client was told that it paid, neuron; undefined until it has a whole answer. */
  bill: bigint | undefined;
  /** Whether the product is done with it. */
  isAnswered = false;
  hasLeft = false;
  words = 0;
  stated: StatedUsage | undefined;
  #over: Over | undefined;

  constructor(
    given: Pick<
      SimChat,
      "id" | "process" | "account" | "keyId" | "isStream" | "promptTokens" | "maxTokens" | "leave"
    >,
  ) {
    this.id = given.id;
    this.process = given.process;
    this.account = given.account;
    this.keyId = given.keyId;
    this.isStream = given.isStream;
    this.promptTokens = given.promptTokens;
    this.maxTokens = given.maxTokens;
    this.leave = given.leave;
  }

  get over(): Over | undefined {
    return this.#over;
  }

  /** The provider told all there is to tell. */
  completed(): void {
    this.#end({ outcome: "completed", owed: this.#usage() });
  }

  /** The provider failed. */
  failed(): void {
    this.#end({ outcome: "failed", owed: this.#delivered() });
  }

  /** The client is gone. */
  left(): void {
    this.hasLeft = true;
    this.#end({ outcome: "aborted", owed: this.#delivered() });
  }

  #end(over: Over): void {
    this.#over ??= over;
  }

  /** A part is billed where a part was delivered: never of a whole answer that did not come. */
  #delivered(): StatedUsage | undefined {
    return this.isStream && this.words > 0 ? this.#usage() : undefined;
  }

  /** What the provider states, unless that is more than it was asked for; else what was counted. */
  #usage(): StatedUsage {
    const { stated, maxTokens = Number.POSITIVE_INFINITY } = this;
    if (stated && stated.outputTokens <= maxTokens) return stated;
    return { inputTokens: this.promptTokens, outputTokens: this.words };
  }
}
