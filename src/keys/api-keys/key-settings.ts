import { type Guardrails, NO_GUARDRAILS } from "./guardrails.ts";
import type { ResetPeriod } from "./reset-period.ts";

/** The minimum trust mode that a key requires; `private` providers also satisfy `verified` (facts 1.4). */
export const TRUST_FLOORS = ["verified", "private"] as const;
export type TrustFloor = (typeof TRUST_FLOORS)[number];

/**
 * The proof that a request or a key requires of a provider. `bound`: it recently signed an answer, and signs this one.
 * `attested`: also, the attestation of its enclave passed every check.
 */
export const EVIDENCE_FLOORS = ["bound", "attested"] as const;
export type EvidenceFloor = (typeof EVIDENCE_FLOORS)[number];

/** What a key may use, and for which requests. An empty list allows all; addresses are in lower case. */
export type KeyRestrictions = {
  /** Increases with every change; 0 for a key that was never restricted. */
  readonly version: number;
  readonly models: readonly string[];
  readonly providers: readonly string[];
  readonly trustMode: TrustFloor | null;
  readonly providerEvidence: EvidenceFloor | null;
  readonly guardrails: Guardrails;
};

/** The default: every model and provider, for every request. */
export const UNRESTRICTED: KeyRestrictions = {
  version: 0,
  models: [],
  providers: [],
  trustMode: null,
  providerEvidence: null,
  guardrails: NO_GUARDRAILS,
};

/** The settings of a key that its account chooses. */
export type KeySettings = Guardrails & {
  readonly name: string;
  readonly expiresAt: Date | null;
  /** The maximum spending per period, neuron; null for no limit. */
  readonly creditLimit: bigint | null;
  readonly resetPeriod: ResetPeriod;
  readonly allowedModels: readonly string[];
  readonly allowedProviders: readonly string[];
  readonly trustMode: TrustFloor | null;
  readonly providerEvidence: EvidenceFloor | null;
};

/**
 * An admission used outdated restrictions of a key. Nothing was held; `restrictions` are the current ones, by which the
 * provider must be chosen again.
 */
export class KeyRestrictionsChanged extends Error {
  override readonly name = "KeyRestrictionsChanged";
  readonly restrictions: KeyRestrictions;

  constructor(restrictions: KeyRestrictions) {
    super("the restrictions of the key were changed");
    this.restrictions = restrictions;
  }
}
