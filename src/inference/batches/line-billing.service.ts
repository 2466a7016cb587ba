import { repeated, type Settlement, uncharged } from "../../accounts/settlements.store.ts";
import { hashInParts } from "../../kernel/hash-in-parts.ts";
import type { Admitted } from "../billing/admitted.ts";
import { toEnded, toSettlement, toTeeTrace, toTrace } from "../billing/billing.service.ts";
import type { Ending } from "../billing/ending.ts";
import { billedOf, costOf } from "../billing/pricing.ts";
import { draftOf } from "../billing/receipt-draft.ts";
import type { Trace } from "../billing/trace.ts";
import { marked } from "../dispatch/dispatch.service.ts";
import type { EvidenceService } from "../evidence/evidence.service.ts";
import { type EvidenceResult, signerOf } from "../evidence/tee-signature.ts";
import type { Provider } from "../providers/provider.ts";
import type { RequestObserver } from "../requests/request-observer.ts";
import { type LineLedger, LineLost } from "./line-ledger.ts";

type Dependencies = {
  readonly lines: Pick<LineLedger, "settle" | "lineOf">;
  readonly evidence: Pick<EvidenceService, "check">;
  readonly observer?: RequestObserver | undefined;
};

/** Bills the requests of lines as `BillingService` bills live ones, and records the answer with the charge. */
export class LineBillingService {
  readonly #dependencies: Dependencies;

  constructor(dependencies: Dependencies) {
    this.#dependencies = dependencies;
  }

  /**
   * Bills a request at the price of the provider that answered and ends its hold. Nobody waits for the answer of a line,
   * so its signature is verified first, where requested. Resolves with the bill. Throws `LineLost` if the hold of an
   * answer had ended.
   */
  async settle(admitted: Admitted, ending: Ending): Promise<Trace> {
    const { lines, observer } = this.#dependencies;
    const { requestId, trace } = admitted;
    const { batch, body } = lines.lineOf(requestId);
    const summary = admitted.summarize(ending);
    const provider = ending.provider ?? summary.provider;
    const cost = costOf(ending.usage ?? { inputTokens: 0, outputTokens: 0 }, provider);
    const evidence = await this.#verify(admitted, provider, ending);
    const billOf = (charged: bigint): Trace => {
      const billed = charged === cost.total ? cost : billedOf(cost, charged);
      const bill = toTrace(provider, billed, admitted, ending.usage);
      return evidence ? { ...bill, ...toTeeTrace(evidence) } : bill;
    };
    const draft = await draftOf(admitted, provider, undefined);
    const receipt = { ...draft, endpoint: batch.endpoint, received: await hashInParts(body) };
    const settlement = toSettlement(requestId, ending, { summary, provider, cost, receipt });
    const { closing } = ending;
    const answer =
      closing &&
      (async (charged: bigint) => {
        const bill = billOf(charged);
        return closing(marked(bill, admitted.unproven(bill)));
      });
    const observe = (recorded: Settlement) => {
      if (admitted.markObserved()) observer?.ended(toEnded(provider, recorded, summary));
    };
    try {
      const bill = billOf(await lines.settle(settlement, answer));
      observe(settlement);
      return bill;
    } catch (error) {
      observe(error instanceof LineLost ? uncharged(settlement, "expired") : repeated(settlement));
      throw error;
    } finally {
      trace?.settled({ ending, provider, firstByteMs: summary.firstByteMs });
    }
  }

  /** Checks the provider's signature of the answer; undefined if that was not requested. Never rejects. */
  async #verify(
    { account, requestId, isVerified, hasher }: Admitted,
    provider: Provider,
    { outcome, answerId, imageHashes: images }: Ending,
  ): Promise<EvidenceResult | undefined> {
    if (!isVerified || outcome !== "completed") return undefined;
    const isComparable = signerOf(provider) !== undefined;
    const hashes = isComparable ? hasher?.hashes.then((known) => ({ ...known, images })) : undefined;
    return this.#dependencies.evidence.check({ account, requestId, provider, answerId, hashes });
  }
}
