import type { Queries } from "../../db/database.ts";
import { PeriodicTask } from "../../kernel/async/periodic-task.ts";
import type { Logger } from "../../kernel/log.ts";
import type { Hex } from "../../kernel/text/hex.ts";
import type { Provider } from "../providers/provider.ts";
import type { EvidenceStanding } from "../routing/evidence-floor.ts";
import { readNewestVerdicts } from "./evidence.store.ts";
import type { EvidenceResult } from "./tee-signature.ts";

type Dependencies = {
  readonly queries: Queries;
  readonly log: Logger;
  /** The providers whose standing is known. */
  readonly providers: () => readonly Provider[];
  /** Whether the attestation of a provider's enclave passed every check. */
  readonly isAttested: (provider: Provider) => boolean;
};

/** How often the evidence that other processes found is read, milliseconds. */
const REFRESH_MS = 10_000;
/** Older evidence says nothing about a provider. */
const RECENT_SECONDS = 24 * 3_600;

/**
 * What providers have proved so far: whether the newest evidence of each was bound to the answer that it gave. Evidence
 * that did not arrive in time says nothing. This process's own evidence counts at once, that of others within seconds.
 */
export class StandingsService {
  readonly #dependencies: Dependencies;
  readonly #reads: PeriodicTask;
  #bound = new Map<Hex, boolean>();
  /** The results of checks by this process during a read, which the read may have missed. */
  readonly #noted = new Map<Hex, boolean>();

  constructor(dependencies: Dependencies) {
    this.#dependencies = dependencies;
    const failed = (error: unknown) =>
      dependencies.log.warn({ err: error }, "reading the providers' evidence failed");
    this.#reads = new PeriodicTask({ everyMs: REFRESH_MS, work: () => this.refresh(), failed });
  }

  /** Reads the newest evidence now, and from then on every few seconds until `stop`. */
  async start(): Promise<void> {
    await this.refresh().catch((error: unknown) =>
      this.#dependencies.log.warn({ err: error }, "reading the providers' evidence failed"),
    );
    this.#reads.start({ isLater: true });
  }

  /** Stops reading, and waits for a read in progress. */
  stop(): Promise<void> {
    return this.#reads.stop();
  }

  /** Reads the newest evidence of every provider. */
  async refresh(): Promise<void> {
    const { queries, providers } = this.#dependencies;
    const addresses = providers().map(({ address }) => address);
    this.#noted.clear();
    const read = await readNewestVerdicts(queries, addresses, RECENT_SECONDS);
    this.#bound = new Map([...read, ...this.#noted]);
  }

  /** Notes the result of a check by this process. */
  note(provider: Hex, { verdict }: EvidenceResult): void {
    if (verdict === "unreachable") return;
    this.#noted.set(provider, verdict === "verified");
    this.#bound.set(provider, verdict === "verified");
  }

  /** What a provider has proved. */
  of(provider: Provider): EvidenceStanding {
    return {
      isBound: this.#bound.get(provider.address) ?? false,
      isAttested: this.#dependencies.isAttested(provider),
    };
  }
}
