import type { ApiFormat } from "../providers/profile.ts";
import type { Provider, ServiceType } from "../providers/provider.ts";
import type { RoutingPreferences } from "../routing/routing-preferences.ts";
import type { Quote } from "./pricing.ts";

/** A request before admission. */
export type AdmissionRequest = {
  readonly model: string;
  readonly serviceType: ServiceType;
  /** The format of the called endpoint: `openai` for every endpoint except `/v1/messages`. */
  readonly format: ApiFormat;
  readonly preferences: RoutingPreferences;
  /** Estimated tokens of the prompt and the answer; undefined where billing is not by token. */
  readonly inputTokens?: number | undefined;
  readonly outputTokens?: number | undefined;
  /** The client's limit on the tokens of the answer, if it sets one. */
  readonly answerTokens?: number | undefined;
  /** The same request with its prompt counted, where `quote` only has a bound for it. Never rejects. */
  readonly counted?: (() => Promise<AdmissionRequest>) | undefined;
  /** Whether `counted` takes less than a few milliseconds. */
  readonly isShort?: boolean | undefined;
  /** Whether to verify the provider's signature of the answer. */
  readonly verifyTee?: boolean | undefined;
  /** The amount to hold for the request at this provider's price. */
  quote(provider: Provider): Quote;
  /** The body to send to this provider, given the held amount. Called once per attempt. */
  body(provider: Provider, heldNeuron: bigint): Buffer;
};
