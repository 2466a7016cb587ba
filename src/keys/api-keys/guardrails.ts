/**
 * Limits on what the requests of a key contain and ask for, which are compared with each of them at its admission. A
 * null, an empty list and false restrict nothing.
 */
export type Guardrails = {
  /** The maximum number of prompt tokens, as counted by the router. */
  readonly maxInputTokens: number | null;
  /** The maximum size of a request's body, in bytes. */
  readonly maxInputBytes: number | null;
  /** The maximum number of output tokens of a request, over all of its answers. */
  readonly maxOutputTokens: number | null;
  /** The names of the tools that a request may offer to the model. */
  readonly allowedTools: readonly string[];
  /** The names of the fields that a body may not have. */
  readonly blockedParameters: readonly string[];
  /** Whether the signature of every answer is verified, also where the client does not request it. */
  readonly verifyTee: boolean;
};

/** The default: no limits. */
export const NO_GUARDRAILS: Guardrails = {
  maxInputTokens: null,
  maxInputBytes: null,
  maxOutputTokens: null,
  allowedTools: [],
  blockedParameters: [],
  verifyTee: false,
};

/** The largest limit, in tokens or bytes. */
export const MAX_GUARDRAIL = 2 ** 31 - 1;
/** The longest name of a tool and of a parameter. */
export const MAX_TOOL_NAME = 128;
export const MAX_PARAMETER_NAME = 64;
/** Names of body fields, also those of forms, which may end with `[]`. */
export const PARAMETER_NAME = /^[A-Za-z_][\w-]*(?:\[\])?$/;
