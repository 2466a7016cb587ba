import type { HoldsService } from "../accounts/holds.service.ts";
import type { LedgerCheck, LedgerService } from "../accounts/ledger.service.ts";
import type { Database } from "../db/database.ts";
import { appendEvents } from "../events/outbox.ts";
import type { TopicPayloads } from "../events/topics.ts";
import type { CatalogueService } from "../inference/providers/catalogue.service.ts";
import { AppError } from "../kernel/errors.ts";
import type { Logger } from "../kernel/log.ts";
import type { WebhooksService } from "../webhooks/webhooks.service.ts";

type Dependencies = {
  readonly database: Database;
  readonly log: Logger;
  readonly committed: () => void;
  readonly catalogue: CatalogueService;
  readonly webhooks: WebhooksService;
  readonly ledger: LedgerService;
  readonly holds: HoldsService;
};

/** For how long an operator may pause a provider, seconds. */
export const PAUSE_SECONDS = { least: 10, most: 86_400 } as const;

/**
 * What operators may do. Each act is logged with the operator's account before it is done; callers have checked that
 * the account is an operator's.
 */
export class OperatorActionsService {
  readonly #dependencies: Dependencies;

  constructor(dependencies: Dependencies) {
    this.#dependencies = dependencies;
  }

  /** Every process sends requests to a provider again. Throws `provider_not_found`. */
  async closeCircuits(operator: string, provider: string): Promise<void> {
    await this.#steer(operator, provider, { change: "closed", seconds: 0 });
  }

  /**
   * Stops all processes from sending requests to a provider for `seconds`. Throws `provider_not_found`, and
   * `invalid_parameter` unless `seconds` is from 10 to 86,400.
   */
  async pauseProvider(operator: string, provider: string, seconds: number): Promise<void> {
    const { least, most } = PAUSE_SECONDS;
    if (!Number.isInteger(seconds) || seconds < least || seconds > most)
      throw new AppError("invalid_parameter", `A provider may be paused for ${least} to ${most} s.`, {
        param: "seconds",
      });
    await this.#steer(operator, provider, { change: "paused", seconds });
  }

  /** Enables a webhook of any account again. Throws what `WebhooksService.enableFaulty` throws. */
  async enableWebhook(operator: string, webhookId: string): Promise<void> {
    this.#record(operator, "enable a webhook", { webhookId });
    await this.#dependencies.webhooks.enableFaulty(webhookId);
  }

  /** Checks the ledger. Throws what `LedgerService.checkNow` throws. */
  verifyLedger(operator: string): Promise<LedgerCheck> {
    this.#record(operator, "check the ledger");
    return this.#dependencies.ledger.checkNow();
  }

  /**
   * Releases expired holds and the money held by processes that have ended, as workers do every 5 s. Resolves with the
   * number of both.
   */
  releaseHolds(operator: string): Promise<number> {
    this.#record(operator, "release expired holds");
    return this.#dependencies.holds.sweep();
  }

  async #steer(
    operator: string,
    address: string,
    steering: Omit<TopicPayloads["circuit.changed"], "provider">,
  ): Promise<void> {
    const { database, committed, catalogue } = this.#dependencies;
    const provider = catalogue.provider(address)?.address.toLowerCase();
    if (provider === undefined) throw new AppError("provider_not_found", "There is no such provider.");
    this.#record(operator, "steer a provider", { provider, ...steering });
    const data = { provider, ...steering };
    await database.statements((tx) =>
      appendEvents(tx, [{ topic: "circuit.changed", subject: provider, data }]),
    );
    committed();
  }

  #record(operator: string, action: string, facts: object = {}): void {
    this.#dependencies.log.warn({ operator, action, ...facts }, "an operator acts");
  }
}
