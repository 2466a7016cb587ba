import QuickLru from "quick-lru";
import type { HoldsService } from "../accounts/holds.service.ts";
import type { Clock } from "../kernel/clock.ts";
import { AppError } from "../kernel/errors.ts";
import { type KeyReach, KeyReachChanged, UNRESTRICTED } from "../keys/key-terms.ts";
import type { CatalogueService } from "./catalogue.service.ts";
import { type ChatRequest, providerBody } from "./chat-request.ts";
import { chooseForChat } from "./choice.ts";
import { affordableTokens, type Cost, costOf, quoteChat, type TokenUsage } from "./pricing.ts";
import { type Provider, trustModeOf } from "./provider.ts";

type Needs = {
  readonly catalogue: CatalogueService;
  readonly holds: HoldsService;
  /** Reads what a key may reach, now. Throws `api_key_revoked` and `api_key_expired`. */
  readonly reachOf: (keyId: string) => Promise<KeyReach>;
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

const REMEMBERED_KEYS = 10_000;
/** How often a request is chosen for again while its key's holder changes what it may reach. */
const MOST_CHOICES = 5;

/** Lets chat requests in: chooses the provider, fixes the price, and sets the money aside before anything is sent. */
export class AdmissionService {
  readonly #needs: Needs;
  /**
   * What keys might reach when last heard of, for the first choice only: the admission statement compares the version
   * and refuses a choice by an old one, and no request is refused by it before it was read anew.
   */
  readonly #reaches = new QuickLru<string, KeyReach>({ maxSize: REMEMBERED_KEYS });

  constructor(needs: Needs) {
    this.#needs = needs;
  }

  /**
   * Admits a chat. Throws what `chooseForChat` and `HoldsService.hold` throw, and then nothing was held.
   */
  async admit(request: ChatRequest, caller: Caller): Promise<AdmittedChat> {
    const { catalogue, clock } = this.#needs;
    const startedMs = clock.monotonicMs();
    let reach = this.#reaches.get(caller.keyId) ?? UNRESTRICTED;
    for (let choices = 1; ; choices++) {
      try {
        const provider = chooseForChat(request.model, catalogue.model(request.model), reach);
        return await this.#hold(request, caller, { provider, reach, startedMs });
      } catch (error) {
        const current = await this.#newReach(error, reach, caller.keyId);
        if (!current || choices === MOST_CHOICES) throw unchosen(error);
        reach = current;
      }
    }
  }

  /** What the key may reach now, if that is not what a choice failed by. */
  async #newReach(error: unknown, tried: KeyReach, keyId: string): Promise<KeyReach | undefined> {
    const isByReach = error instanceof KeyReachChanged;
    if (!isByReach && !(error instanceof AppError && BY_REACH.has(error.code))) return undefined;
    const reach = isByReach ? error.reach : await this.#needs.reachOf(keyId);
    if (reach.version === tried.version) return undefined;
    this.#reaches.set(keyId, reach);
    return reach;
  }

  async #hold(
    request: ChatRequest,
    caller: Caller,
    { provider, reach, startedMs }: { provider: Provider; reach: KeyReach; startedMs: number },
  ): Promise<AdmittedChat> {
    const { clock, holds, maxCompletionTokens, holdSeconds } = this.#needs;
    const ask = {
      promptTokens: request.promptTokens,
      maxTokens: request.maxTokens,
      modelLimit: maxCompletionTokens,
      choices: request.choices,
    };
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
      reachVersion: reach.version,
      trustMode: trustModeOf(provider),
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
          ...(usage?.cache && { cache: usage.cache }),
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

/** Failures of a choice that another reach of the key might cure. */
const BY_REACH: ReadonlySet<string> = new Set([
  "access_denied",
  "model_not_found",
  "no_available_provider",
  "no_provider_for_trust_mode",
]);

function unchosen(error: unknown): unknown {
  if (!(error instanceof KeyReachChanged)) return error;
  return new AppError("unavailable", "What this key may reach is being changed. Try again.", {
    cause: error,
  });
}
