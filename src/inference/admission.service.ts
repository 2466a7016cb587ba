import type { HoldsService } from "../accounts/holds.service.ts";
import type { Clock } from "../kernel/clock.ts";
import type { CatalogueService } from "./catalogue.service.ts";
import { type ChatRequest, providerBody } from "./chat-request.ts";
import { affordableTokens, type Cost, costOf, quoteChat, type TokenUsage } from "./pricing.ts";
import type { Provider } from "./provider.ts";

type Needs = {
  readonly catalogue: CatalogueService;
  readonly holds: HoldsService;
  readonly clock: Clock;
  /** What an answer may have when the client sets no limit, tokens. */
  readonly maxCompletionTokens: number;
  /** After this a hold that nobody ended is released: the total deadline of a request and a minute. */
  readonly holdSeconds: number;
};

/** Who asks, and under which id the request is known from now on. */
export type Caller = { readonly account: string; readonly keyId: string; readonly requestId: string };

/** How a request ended. `usage` is what is billed; none means that nothing was delivered. */
export type Ending = {
  readonly outcome: "completed" | "failed" | "aborted";
  readonly usage?: TokenUsage | undefined;
  readonly estimated?: boolean;
  readonly errorCode?: string;
};

/** A bill as the client sees it in `x_0g_trace`, decimal strings of neuron (facts 1.3). */
export type Trace = {
  readonly request_id: string;
  readonly provider: string;
  readonly billing: {
    readonly input_cost: string;
    readonly output_cost: string;
    readonly total_cost: string;
  };
};

/** A request that was let in: its money is held and its provider chosen. It must be settled, once. */
export class AdmittedChat {
  readonly provider: Provider;
  readonly body: Buffer;
  readonly promptTokens: number;
  readonly #settle: (ending: Ending, cost: Cost, firstByteMs: number | undefined) => Promise<bigint>;
  readonly #caller: Caller;
  readonly #sinceStart: () => number;
  #firstByteMs: number | undefined;

  constructor(given: {
    provider: Provider;
    body: Buffer;
    promptTokens: number;
    caller: Caller;
    sinceStart: () => number;
    settle: (ending: Ending, cost: Cost, firstByteMs: number | undefined) => Promise<bigint>;
  }) {
    this.provider = given.provider;
    this.body = given.body;
    this.promptTokens = given.promptTokens;
    this.#caller = given.caller;
    this.#sinceStart = given.sinceStart;
    this.#settle = given.settle;
  }

  /** Notes that the provider's first byte came now. */
  markFirstByte(): void {
    this.#firstByteMs ??= this.#sinceStart();
  }

  /** Bills the request and ends its hold. Resolves with the bill once that is committed. */
  async settle(ending: Ending): Promise<Trace> {
    const cost = costOf(ending.usage ?? { inputTokens: 0, outputTokens: 0 }, this.provider);
    const charged = await this.#settle(ending, cost, this.#firstByteMs);
    return {
      request_id: this.#caller.requestId,
      provider: this.provider.address,
      billing: {
        input_cost: cost.input.toString(),
        output_cost: cost.output.toString(),
        total_cost: charged.toString(),
      },
    };
  }
}

/** Lets chat requests in: chooses the provider, fixes the price, and sets the money aside before anything is sent. */
export class AdmissionService {
  readonly #needs: Needs;

  constructor(needs: Needs) {
    this.#needs = needs;
  }

  /**
   * Admits a chat. Throws `model_not_found`, `no_available_provider`, `api_key_revoked` or `insufficient_balance`,
   * and then nothing was held.
   */
  async admit(request: ChatRequest, caller: Caller): Promise<AdmittedChat> {
    const { catalogue, clock, holds, maxCompletionTokens, holdSeconds } = this.#needs;
    const provider = catalogue.choose(request.model);
    const ask = {
      promptTokens: request.promptTokens,
      maxTokens: request.maxTokens,
      modelLimit: maxCompletionTokens,
      choices: request.choices,
    };
    const startedMs = clock.monotonicMs();
    const held = await holds.hold({
      id: caller.requestId,
      account: caller.account,
      keyId: caller.keyId,
      ...quoteChat(ask, provider),
      model: request.model,
      provider: provider.address,
      serviceType: provider.serviceType,
      inputPrice: provider.inputPrice,
      outputPrice: provider.outputPrice,
      expiresInSeconds: holdSeconds,
    });
    const sinceStart = () => Math.round(clock.monotonicMs() - startedMs);
    return new AdmittedChat({
      provider,
      body: providerBody(request, affordableTokens(ask, provider, held)),
      promptTokens: request.promptTokens,
      caller,
      sinceStart,
      settle: ({ outcome, usage, estimated, errorCode }, cost, firstByteMs) =>
        holds.settle({
          id: caller.requestId,
          outcome,
          inputTokens: usage?.inputTokens,
          outputTokens: usage?.outputTokens,
          usageEstimated: estimated ?? false,
          inputCost: cost.input,
          outputCost: cost.output,
          errorCode,
          firstByteMs,
          durationMs: sinceStart(),
        }),
    });
  }
}
