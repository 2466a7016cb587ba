import type { GuardedRequest } from "../guardrails/guarded-request.ts";
import type { Provider } from "../providers/provider.ts";
import type { ChoiceRequest } from "../routing/choice.service.ts";
import type { Quote } from "./pricing.ts";

/** A request before admission. */
export type AdmissionRequest = ChoiceRequest & {
  /** What the guardrails of its key are compared with. */
  readonly guarded: GuardedRequest;
  /** The same request with at most this many tokens of each answer, for one in which the client sets no limit. */
  readonly limitedTo?: ((tokens: number) => AdmissionRequest) | undefined;
  /** The limit of `limitedTo`; undefined without one. */
  readonly answerLimit?: number | undefined;
  /** The same request with its prompt counted, where `quote` only has a bound for it. Never rejects. */
  readonly counted?: (() => Promise<AdmissionRequest>) | undefined;
  /** Whether `counted` takes less than a few milliseconds. */
  readonly isShort?: boolean | undefined;
  /** Whether to verify the provider's signature of the answer. */
  readonly verifyTee?: boolean | undefined;
  /** The amount to hold for the request at this provider's price. */
  quote(provider: Provider): Quote;
  /** The format in which this provider answers, where that is not the same for all of them. */
  readonly formOf?: ((provider: Provider) => string) | undefined;
  /** Whether this provider may continue an answer that another one has begun; by default each may. */
  readonly continues?: ((provider: Provider) => boolean) | undefined;
  /** The body to send to this provider, given the held amount. Called once per attempt. */
  body(provider: Provider, heldNeuron: bigint): Buffer;
};
