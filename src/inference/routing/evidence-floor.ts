import { AppError } from "../../kernel/errors.ts";
import type { EvidenceFloor, KeyRestrictions } from "../../keys/api-keys/key-settings.ts";
import type { RoutingPreferences } from "./routing-preferences.ts";

/** What a provider has proved so far. */
export type EvidenceStanding = {
  /** Whether its newest evidence of the recent past is a signature of the answer that it gave. */
  readonly isBound: boolean;
  /** Whether the attestation of its enclave passed every check. */
  readonly isAttested: boolean;
};

/** The stronger of what the client and its key require; undefined if neither requires proof. */
export function requiredEvidence({
  preferences,
  restrictions,
}: {
  readonly preferences: Pick<RoutingPreferences, "evidence">;
  readonly restrictions: Pick<KeyRestrictions, "providerEvidence">;
}): EvidenceFloor | undefined {
  const required = [preferences.evidence, restrictions.providerEvidence];
  return required.includes("attested") ? "attested" : required.includes("bound") ? "bound" : undefined;
}

/** Whether a provider of this standing may be asked. */
export function meetsEvidence(
  required: EvidenceFloor | undefined,
  { isBound, isAttested }: EvidenceStanding,
): boolean {
  if (required === undefined) return true;
  return isBound && (required === "bound" || isAttested);
}

/** The failure when no provider may be asked. It names what none of them has, so that the client knows what would help. */
export function noEvidence(
  required: EvidenceFloor | undefined,
  standings: readonly EvidenceStanding[],
): AppError {
  const lacksAttestation = required === "attested" && !standings.some(({ isAttested }) => isAttested);
  const reason = lacksAttestation
    ? "No provider of this model is attested."
    : "No provider of this model recently signed an answer. A request with `verify_tee` shows whether one does.";
  return new AppError("no_provider_with_evidence", reason);
}
