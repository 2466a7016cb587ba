import type { HoldsService } from "../../accounts/holds.service.ts";
import { repeated, type Settlement } from "../../accounts/settlements.store.ts";
import { type ReceiptDraft, withoutReturned } from "../../receipts/draft.ts";
import type { ChargedCost } from "../answer-cache/cache-request.ts";
import type { EvidenceService } from "../evidence/evidence.service.ts";
import { type EvidenceResult, signerOf } from "../evidence/tee-signature.ts";
import { type Provider, trustModeOf } from "../providers/provider.ts";
import type { EndedRequest, RequestObserver } from "../requests/request-observer.ts";
import type { PromptCachesService } from "../routing/prompt-caches.service.ts";
import type { Admitted } from "./admitted.ts";
import type { AttemptSummary, Ending, Served } from "./ending.ts";
import { billedOf, type Cost, cacheSavingOf, costOf, ratesFor, type Usage } from "./pricing.ts";
import { draftOf } from "./receipt-draft.ts";
import type { Trace } from "./trace.ts";

type Dependencies = {
  readonly holds: Pick<HoldsService, "settle">;
  readonly evidence: Pick<EvidenceService, "check">;
  readonly promptCaches: Pick<PromptCachesService, "answered">;
  readonly observer?: RequestObserver | undefined;
  /** What a request is charged for a stored answer in place of a cost; all of it by default. */
  readonly hitCost?: ((cost: ChargedCost) => ChargedCost) | undefined;
};

/** Bills admitted requests: prices their usage, and replaces their hold by the charge. */
export class BillingService {
  readonly #dependencies: Dependencies;

  constructor(dependencies: Dependencies) {
    this.#dependencies = dependencies;
  }

  /**
   * Bills a request at the price of the provider that answered and ends its hold. Resolves with the bill once it is
   * committed and, where requested, the answer's signature is verified: the one that `closing` was called with, unless
   * less than the cost was charged. A stored answer is charged at its own price, and never verified.
   */
  async settle(admitted: Admitted, ending: Ending): Promise<Trace> {
    const { requestId, trace, served } = admitted;
    const summary = admitted.summarize(ending);
    const provider = ending.provider ?? summary.provider;
    const cost = served ? this.#costOf(served, ending) : priceOf(ending, provider);
    const verified = ending.outcome === "completed" && !served && this.#verify(admitted, provider, ending);
    this.#rememberCache(admitted, provider, ending);
    const usage = served ? undefined : ending.usage;
    const toBill = (billed: Cost) => toTrace(provider, billed, admitted, usage);
    const bill = toBill(cost);
    // The receipt commits to what the client is sent, which states the bill: all of that is known now.
    const closing = admitted.client && !verified ? await ending.closing?.(bill) : undefined;
    const receipt = await draftOf(admitted, provider, closing);
    const settlement = toSettlement(requestId, ending, { summary, provider, cost, receipt });
    const settle = () => this.#dependencies.holds.settle(settlement);
    const observe = (recorded: Settlement) => this.#observe(admitted, provider, recorded, summary);
    let charged: bigint | undefined;
    try {
      charged = await (trace ? trace.run(settle) : settle());
      observe(settlement);
    } catch (error) {
      observe(repeated(settlement));
      throw error;
    } finally {
      trace?.settled({ ending, provider, firstByteMs: summary.firstByteMs });
      admitted.client?.settled(requestId, charged === cost.total ? receipt : withoutReturned(receipt));
    }
    const charge = charged === cost.total ? bill : toBill(billedOf(cost, charged));
    if (admitted.cache) admitted.markEnded(ending.outcome, provider, charge);
    return verified ? { ...charge, ...toTeeTrace(await verified) } : charge;
  }

  /** A whole stored answer costs what its request was charged, a part of it what that is worth, at the price of a hit. */
  #costOf({ cached, provider }: Served, ending: Ending): Cost {
    const { hitCost = (cost) => cost } = this.#dependencies;
    const { input, output } = hitCost(
      ending.outcome === "completed" ? cached.cost : priceOf(ending, provider),
    );
    return { input, output, total: input + output };
  }

  /** Records that the provider has the prompt of a conversation cached, for its next request. */
  #rememberCache(
    { affinity, served }: Admitted,
    provider: Provider,
    { outcome, usage, estimated = false }: Ending,
  ): void {
    if (served || !affinity || outcome === "failed" || !usage || "inputUnits" in usage) return;
    const isStated = outcome === "completed" && !estimated;
    this.#dependencies.promptCaches.answered(affinity.conversation, provider, usage, { isStated });
  }

  /** Checks the provider's signature of the answer; undefined if that was not requested. Never rejects. */
  #verify(
    { account, requestId, isVerified, hasher }: Admitted,
    provider: Provider,
    { answerId, imageHashes: images }: Ending,
  ): Promise<EvidenceResult> | undefined {
    if (!isVerified) return undefined;
    const isComparable = signerOf(provider) !== undefined;
    const hashes = isComparable ? hasher?.hashes.then((known) => ({ ...known, images })) : undefined;
    return this.#dependencies.evidence.check({ account, requestId, provider, answerId, hashes });
  }

  /** Once, by what is recorded: a request is settled again when its first settlement failed. */
  #observe(admitted: Admitted, provider: Provider, settlement: Settlement, summary: AttemptSummary): void {
    if (admitted.markObserved()) this.#dependencies.observer?.ended(toEnded(provider, settlement, summary));
  }
}

/** A request that ended like this, for its observer. */
export function toEnded(
  { model, serviceType }: Provider,
  { outcome, errorCode, inputTokens, outputTokens }: Settlement,
  { routing, firstByteMs, durationMs }: AttemptSummary,
): EndedRequest {
  return {
    serviceType,
    model,
    outcome: outcome === "failed" ? (errorCode ?? outcome) : outcome,
    inputTokens,
    outputTokens,
    tries: routing.attempts.length,
    firstByteMs,
    durationMs,
  };
}

function priceOf({ usage = { inputTokens: 0, outputTokens: 0 } }: Ending, provider: Provider): Cost {
  return costOf(usage, provider);
}

/** A bill as the client sees it. `usage` is that of which the provider's cache may have saved something. */
export function toTrace(
  provider: Provider,
  billed: Cost,
  { requestId, hasModels, served, request }: Pick<Admitted, "requestId" | "hasModels" | "served" | "request">,
  usage: Usage | undefined,
): Trace {
  const saving = usage ? cacheSavingOf(usage, provider, billed) : 0n;
  return {
    request_id: requestId,
    provider: provider.address,
    ...(hasModels && { model: provider.model }),
    billing: {
      ...{ input_cost: `${billed.input}`, output_cost: `${billed.output}`, total_cost: `${billed.total}` },
      ...(saving !== 0n && { cache_saving: saving === null ? null : `${saving}` }),
    },
    ...(served && { cached_from: served.cached.requestId }),
    ...(served && request.verifyTee && { tee_verified: false }),
  };
}

/** The result of a check as the client sees it. */
export function toTeeTrace({
  verdict,
  form,
  requestBound,
  responseBound,
}: EvidenceResult): Pick<Trace, "tee_verified" | "tee_evidence"> {
  return {
    tee_verified: verdict === "verified",
    tee_evidence: {
      verdict,
      ...(form !== undefined && { form }),
      ...(requestBound !== undefined && { request_bound: requestBound }),
      ...(responseBound !== undefined && { response_bound: responseBound }),
    },
  };
}

/** The charge as the ledger writes it, with the provider that answered and the prices of its tier. */
export function toSettlement(
  id: string,
  { outcome, usage, estimated, errorCode, isUndelivered = false }: Ending,
  {
    summary,
    provider,
    cost,
    receipt,
  }: { summary: AttemptSummary; provider: Provider; cost: Cost; receipt: ReceiptDraft },
): Settlement {
  const tokens = usage && "inputTokens" in usage ? usage : undefined;
  const units = usage && "inputUnits" in usage ? usage : undefined;
  const rates = ratesFor(provider, tokens?.inputTokens ?? 0);
  return {
    id,
    outcome,
    inputTokens: tokens?.inputTokens,
    outputTokens: tokens?.outputTokens,
    ...(tokens?.cache && { cache: tokens.cache }),
    ...(tokens?.reasoningTokens !== undefined && { reasoningTokens: tokens.reasoningTokens }),
    units: units && units.inputUnits + units.outputUnits,
    usageEstimated: estimated ?? false,
    inputCost: cost.input,
    outputCost: cost.output,
    errorCode,
    ...(isUndelivered && { isUndelivered }),
    firstByteMs: summary.firstByteMs,
    durationMs: summary.durationMs,
    answeredBy: {
      provider: provider.address,
      model: provider.model,
      inputPrice: rates.input,
      outputPrice: rates.output,
      trustMode: trustModeOf(provider),
    },
    routing: {
      ...summary.routing,
      ...(tokens?.cache && cost.output === 0n && { inputCost: `${cost.input}` }),
    },
    receipt,
  };
}
