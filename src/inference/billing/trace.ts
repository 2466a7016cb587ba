import type { TextForm } from "../evidence/signed-text.ts";
import type { Verdict } from "../evidence/tee-signature.ts";

/** A bill as the client sees it in `x_0g_trace`, decimal strings of neuron (facts 1.3). */
export type Trace = {
  readonly request_id: string;
  readonly provider: string;
  /** The model that answered; present only if the request named several. */
  readonly model?: string;
  readonly billing: {
    readonly input_cost: string;
    readonly output_cost: string;
    readonly total_cost: string;
    /** What the provider's cache saved, if it saved something; null if less was charged than the cached request cost. */
    readonly cache_saving?: string | null;
  };
  /** The request that this stored answer was given to, and which its evidence is about; present only for one. */
  readonly cached_from?: string;
  /** Whether the provider's enclave signed this answer; present only if verification was requested. */
  readonly tee_verified?: boolean;
  /** What the signature proves; present only if verification was requested. */
  readonly tee_evidence?: TeeEvidence;
  /** Present only in a whole answer that lacks the required proof, in place of the error event of a stream. */
  readonly error?: TraceError;
};

/** A failure of an answer that is delivered and billed all the same. */
export type TraceError = { readonly code: string; readonly type: string; readonly message: string };

/** The result of verifying a signature, as the client sees it. */
export type TeeEvidence = {
  readonly verdict: Verdict;
  /** The form of the signed text; absent if there is none, or its form is not supported. */
  readonly form?: TextForm;
  /** Whether the text has the hash of the request as it was sent; absent if it was not compared. */
  readonly request_bound?: boolean;
  /** Whether the text has the hash of the answer as it was received; absent if it was not compared. */
  readonly response_bound?: boolean;
};
