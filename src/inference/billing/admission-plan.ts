import type { HoldRequest } from "../../accounts/holds.store.ts";
import type { KeyRestrictions } from "../../keys/api-keys/key-settings.ts";
import { inputTokensAt, type Provider, trustModeOf } from "../providers/provider.ts";
import type { Choice } from "../routing/choice.ts";
import type { AdmissionRequest } from "./admission-request.ts";
import type { Caller } from "./admitted.ts";
import { ratesFor } from "./pricing.ts";

/** The account and the key that pay for a request. */
export type Payer = Pick<Caller, "account" | "keyId">;

/** A request whose providers are chosen and whose hold is computed, before anything is held. */
export type AdmissionPlan = {
  readonly request: AdmissionRequest;
  readonly payer: Payer;
  readonly choice: Choice;
  /** The hold to place, except for the id of the request. */
  readonly hold: Omit<HoldRequest, "id">;
  /** How many times the request has been planned. */
  readonly plans: number;
};

/**
 * The hold for a choice: the cost of the most expensive candidate, or as much of it as the balance covers, if that is
 * enough for one of the candidates.
 */
export function holdFor(
  request: AdmissionRequest,
  { candidates }: Choice,
  given: {
    readonly payer: Payer;
    readonly restrictions: KeyRestrictions;
    readonly expiresInSeconds: number;
  },
): AdmissionPlan["hold"] {
  const [first] = candidates;
  if (!first) throw new Error("a choice without a candidate");
  const quotes = candidates.map((provider) => request.quote(provider));
  const rates = ratesFor(first, inputTokensAt(first, request.inputTokens ?? 0));
  return {
    account: given.payer.account,
    keyId: given.payer.keyId,
    minimum: quotes.reduce(
      (least, { minimum }) => (minimum < least ? minimum : least),
      quotes[0]?.minimum ?? 0n,
    ),
    maximum: quotes.reduce((most, { maximum }) => (maximum > most ? maximum : most), 0n),
    model: request.model,
    provider: first.address,
    serviceType: first.serviceType,
    inputPrice: rates.input,
    outputPrice: rates.output,
    expiresInSeconds: given.expiresInSeconds,
    restrictionsVersion: given.restrictions.version,
    trustMode: trustModeOf(first),
  };
}

/** The candidates whose minimum the held amount covers; the others are not tried. Neuron. */
export function affordable(
  { choice, hold, request }: AdmissionPlan,
  heldNeuron: bigint,
  quotedBy: AdmissionRequest = request,
): readonly Provider[] {
  if (heldNeuron >= hold.maximum) return choice.candidates;
  return choice.candidates.filter((provider) => quotedBy.quote(provider).minimum <= heldNeuron);
}
