import type { ResetPeriod } from "./reset-period.ts";

/** The least trust that a key asks of providers; `verified` is met by `private` providers too (facts 1.4). */
export const TRUST_FLOORS = ["verified", "private"] as const;
export type TrustFloor = (typeof TRUST_FLOORS)[number];

/** Which models and providers a key may reach. An empty list is no limit; addresses are in lower case. */
export type KeyRestrictions = {
  /** Grows with every change; 0 for a key that never was restricted. */
  readonly version: number;
  readonly models: readonly string[];
  readonly providers: readonly string[];
  readonly trustMode: TrustFloor | null;
};

/** What most keys may reach: everything. */
export const UNRESTRICTED: KeyRestrictions = { version: 0, models: [], providers: [], trustMode: null };

/** What the holder of a key decides about it. */
export type KeySettings = {
  readonly name: string;
  readonly expiresAt: Date | null;
  /** The most that may be spent in a period, neuron; null is no limit. */
  readonly creditLimit: bigint | null;
  readonly resetPeriod: ResetPeriod;
  readonly allowedModels: readonly string[];
  readonly allowedProviders: readonly string[];
  readonly trustMode: TrustFloor | null;
};

/**
 * An admission was asked for by what the key might reach before its holder changed that. Nothing was held; `reach`
 * is what holds now, to choose by again.
 */
export class KeyRestrictionsChanged extends Error {
  override readonly name = "KeyRestrictionsChanged";
  readonly restrictions: KeyRestrictions;

  constructor(restrictions: KeyRestrictions) {
    super("the key may reach other models or providers now");
    this.restrictions = restrictions;
  }
}
