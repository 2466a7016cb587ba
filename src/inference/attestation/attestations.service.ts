import { randomBytes } from "node:crypto";
import type { Collateral, TcbStatus } from "@phala/dcap-qvl";
import { PeriodicTask } from "../../kernel/async/periodic-task.ts";
import type { Clock } from "../../kernel/clock.ts";
import type { Logger } from "../../kernel/log.ts";
import type { Hex } from "../../kernel/text/hex.ts";
import { signerOf } from "../evidence/tee-signature.ts";
import type { ProviderClient } from "../providers/exchange/provider.client.ts";
import { gatherAnswer } from "../providers/exchange/provider-answer.ts";
import { isRoutable, type Provider } from "../providers/provider.ts";
import { type AllowedMeasurement, type Attestation, appraise, noAttestation } from "./appraisal.ts";
import { readReport } from "./attestation-report.ts";
import type { CollateralClient } from "./collateral.client.ts";
import { type Platform, platformOf, type VerifiedQuote, verifyQuote } from "./quote-verification.ts";

type Dependencies = {
  readonly providers: Pick<ProviderClient, "get" | "tlsKeysOf">;
  readonly catalogue: { providers(): readonly Provider[] };
  readonly collateral: Pick<CollateralClient, "collateralFor" | "forget">;
  readonly clock: Clock;
  readonly log: Logger;
};

/** How often attestations are appraised, and what the operator accepts. */
export type AttestationSettings = {
  readonly refreshMs: number;
  readonly statuses: readonly TcbStatus[];
  readonly allowed: readonly AllowedMeasurement[];
  /** How an attestation that does not pass is logged: none passes on the development network. */
  readonly failureLevel: "warn" | "debug";
};

type Kept = {
  readonly signer: Hex;
  readonly attestation: Attestation;
  readonly sinceMs: number;
  /** After how long the provider is appraised again. */
  readonly againMs: number;
};

const MAX_REPORT_BYTES = 1_048_576;
const TIMEOUT_MS = 20_000;
/** How often providers that are due are looked for, and how soon one without a verified quote is appraised again. */
const ROUND_MS = 60_000;
/** A result that could not be renewed for this many intervals no longer counts. */
const MAX_INTERVALS = 3;

/**
 * Appraises the attestations of providers in the background, one provider after the other, and keeps the results: no
 * request ever waits for one. A provider that runs its model in a separate enclave is appraised by that enclave's report.
 * A new provider or signer is appraised within a minute. If no quote verifies, because a report or Intel's collateral
 * cannot be read for example, the next attempts follow after 1, 2, 4 minutes and so on, at most at the usual interval.
 */
export class AttestationsService {
  readonly #dependencies: Dependencies;
  readonly #settings: AttestationSettings;
  readonly #kept = new Map<Hex, Kept>();
  readonly #runs: PeriodicTask;
  readonly #stopped = new AbortController();

  constructor(dependencies: Dependencies, settings: AttestationSettings) {
    this.#dependencies = dependencies;
    this.#settings = settings;
    const failed = (error: unknown) =>
      dependencies.log.error({ err: error }, "appraising the providers' attestations failed");
    const everyMs = Math.min(settings.refreshMs, ROUND_MS);
    this.#runs = new PeriodicTask({ everyMs, work: () => this.refresh(), failed });
  }

  /** Appraises now, and from then on whatever is due, until `stop`; does not wait for the first results. */
  start(): void {
    this.#runs.start();
  }

  /** Stops, and aborts an appraisal in progress. */
  async stop(): Promise<void> {
    this.#stopped.abort();
    await this.#runs.stop();
  }

  /** Appraises each provider that is due, if the network acknowledged its signer. */
  async refresh(): Promise<void> {
    const { catalogue, clock } = this.#dependencies;
    const offered = catalogue.providers().filter((offer) => offer.source === "chain" && isRoutable(offer));
    for (const address of this.#kept.keys())
      if (!offered.some((offer) => offer.address === address)) this.#kept.delete(address);
    for (const provider of offered) {
      const signer = signerOf(provider);
      const known = this.#kept.get(provider.address);
      const before = known?.signer === signer ? known : undefined;
      if (signer === undefined || (before && clock.monotonicMs() - before.sinceMs < before.againMs)) continue;
      const attestation = await this.#appraise(provider, signer);
      if (this.#stopped.signal.aborted) return;
      this.#keep(provider, { signer, attestation, before });
    }
  }

  #keep(
    { address }: Provider,
    {
      signer,
      attestation,
      before,
    }: Pick<Kept, "signer" | "attestation"> & { readonly before: Kept | undefined },
  ): void {
    const { clock, log } = this.#dependencies;
    const { refreshMs, failureLevel } = this.#settings;
    const { isPassed, quote, failures } = attestation;
    const isNews = failures.join() !== before?.attestation.failures.join();
    if (!isPassed && isNews)
      log[failureLevel]({ provider: address, failures }, "an attestation did not pass");
    const isUnproved = before !== undefined && before.attestation.quote === undefined;
    const soonMs = isUnproved ? before.againMs * 2 : ROUND_MS;
    const againMs = quote === undefined ? Math.min(soonMs, refreshMs) : refreshMs;
    this.#kept.set(address, { signer, attestation, sinceMs: clock.monotonicMs(), againMs });
  }

  /** The newest appraisal of a provider; undefined if there is none for its present signer, or it is too old. */
  of(provider: Provider): Attestation | undefined {
    const kept = this.#kept.get(provider.address);
    if (!kept || kept.signer !== signerOf(provider)) return undefined;
    const ageMs = this.#dependencies.clock.monotonicMs() - kept.sinceMs;
    return ageMs < MAX_INTERVALS * this.#settings.refreshMs ? kept.attestation : undefined;
  }

  /** Never throws: what fails is a failure of the attestation. Only reasons of our own are shown. */
  async #appraise(provider: Provider, signer: Hex): Promise<Attestation> {
    const { clock, providers } = this.#dependencies;
    const nonce = randomBytes(32).toString("hex");
    const body = await this.#fetch(provider, nonce).catch(() => undefined);
    const tlsKeys = providers.tlsKeysOf(provider);
    const fail = (reason: string) => noAttestation(reason, clock.now());
    if (!body) return fail("The provider gave no attestation report.");
    const report = readReport(body);
    if (!report) return fail("The attestation report is malformed.");
    try {
      const platform = platformOf(report.quote);
      const known = await this.#collateralFor(platform, provider);
      if (!known) return fail("Intel's collateral for the quote could not be read.");
      const now = clock.now();
      const verified = this.#verify(report.quote, platform, known, now);
      return appraise(report, verified, { ...this.#settings, signer, nonce, tlsKeys, now });
    } catch (error) {
      const reason = error instanceof Error ? error.message : "unknown";
      return fail(`Attestation failed: ${reason}.`);
    }
  }

  /** Collateral that verifies no quote may be what is at fault, so that it is not used again. */
  #verify(quote: Buffer, platform: Platform, collateral: Collateral, now: Date): VerifiedQuote {
    try {
      return verifyQuote(quote, collateral, now);
    } catch (error) {
      this.#dependencies.collateral.forget(platform);
      throw error;
    }
  }

  async #collateralFor(platform: Platform, provider: Provider): Promise<Collateral | undefined> {
    const { collateral, log } = this.#dependencies;
    try {
      return await collateral.collateralFor(platform);
    } catch (error) {
      log.warn({ err: error, provider: provider.address }, "reading Intel's collateral failed");
      return undefined;
    }
  }

  async #fetch(provider: Provider, nonce: string): Promise<Buffer | undefined> {
    const model = encodeURIComponent(provider.model);
    const path = provider.profile.targetSigner
      ? (`/attestation/report?model=${model}&nonce=${nonce}` as const)
      : "/quote";
    const signal = AbortSignal.any([this.#stopped.signal, AbortSignal.timeout(TIMEOUT_MS)]);
    const { status, body } = await gatherAnswer(
      (listener) => this.#dependencies.providers.get(provider, path, listener, { totalMs: TIMEOUT_MS }),
      { signal, maxBytes: MAX_REPORT_BYTES },
    );
    return status === 200 ? body : undefined;
  }
}
