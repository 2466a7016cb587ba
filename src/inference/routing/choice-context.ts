import type { AppError } from "../../kernel/errors.ts";
import type { Hex } from "../../kernel/text/hex.ts";
import type { KeyRestrictions } from "../../keys/api-keys/key-settings.ts";
import type { ApiFormat, Profile } from "../providers/profile.ts";
import type { Provider, ServiceType } from "../providers/provider.ts";
import type { EvidenceStanding } from "./evidence-floor.ts";
import type { Affinity } from "./ranking.ts";
import type { RoutingPreferences, Usd } from "./routing-preferences.ts";

/** The state of a provider at the moment of a choice. */
export type ProviderState = {
  /** `open` after repeated failures: then it is not used, except for one probe at a time. */
  readonly circuit: "closed" | "open" | "half-open";
  /** Whether a pause that it requested has not ended yet. */
  readonly isResting: boolean;
  /** Time to first byte, milliseconds; undefined without recent requests. */
  readonly latencyMs: number | undefined;
  /** Tokens of an answer per second of its whole duration; undefined without recent answers. */
  readonly tokensPerSecond: number | undefined;
  /** Requests that it is currently answering. */
  readonly inFlight: number;
};

/** Why a provider is not used. */
export type RefusalReason =
  | "not_pinned"
  | "not_in_only"
  | "ignored"
  | "not_allowed_for_key"
  | "format_not_supported"
  | "unroutable"
  | "signer_not_acknowledged"
  | "below_trust_mode"
  | "lacks_evidence"
  | "above_max_price"
  | "context_too_short"
  | "circuit_open"
  | "resting"
  | "fallbacks_off"
  | "enough_candidates";

/** A provider that is not used, and why. */
export type Refused = {
  readonly provider: Hex;
  readonly reason: RefusalReason;
  /** The model of the offer; present only if the request names several. */
  readonly model?: string;
};

/** Which offers serve a request, where that is not only a question of its format. */
export type FormatNeeds = {
  serves(profile: Profile): boolean;
  /** The failure if none does; by default that of the format. */
  readonly failure?: AppError | undefined;
  /** What the failure of the format advises; by default another endpoint. */
  readonly advice?: string | undefined;
  /** Whether text that only its author can read is in the prompt, or expected of the answer. */
  readonly encrypted?: "in_prompt" | "in_answer" | undefined;
};

/** The inputs of a choice. */
export type ChoiceContext = {
  readonly model: string;
  readonly serviceType: ServiceType;
  /** The format of the called endpoint: `openai` for every endpoint that `ENDPOINTS` does not name. */
  readonly format: ApiFormat;
  /** By default, the offers with this format serve the request. */
  readonly needs?: FormatNeeds | undefined;
  readonly preferences: RoutingPreferences;
  /**
   * Estimated tokens of the prompt and the answer, used to compare offers; undefined where billing is not by token. Both
   * default to 1.
   */
  readonly inputTokens?: number | undefined;
  readonly outputTokens?: number | undefined;
  /** The client's limit on the tokens of the answer, if it sets one. */
  readonly answerTokens?: number | undefined;
  /** The restrictions of the key. */
  readonly restrictions: KeyRestrictions;
  readonly stateOf: (provider: Provider) => ProviderState;
  readonly standingOf: (provider: Provider) => EvidenceStanding;
  /** The network token's price in dollars; undefined if the router does not know it. */
  readonly tokenUsd: Usd | undefined;
  /** Whether a provider with this address exists. */
  readonly isKnown: (provider: Hex) => boolean;
  /** The conversation of the request, if it has one; called only if it may decide. */
  readonly affinity?: (() => Affinity | undefined) | undefined;
};
