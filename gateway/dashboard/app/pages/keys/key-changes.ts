/** The settings of a key that can be removed, by their names in `clear`. */
const LIMITS = {
  creditLimit: "CREDIT_LIMIT",
  expiresAt: "EXPIRES_AT",
  trustMode: "TRUST_MODE",
  providerEvidence: "PROVIDER_EVIDENCE",
  maxInputTokens: "MAX_INPUT_TOKENS",
  maxInputBytes: "MAX_INPUT_BYTES",
  maxOutputTokens: "MAX_OUTPUT_TOKENS",
} as const;
type Limit = keyof typeof LIMITS;

/** The input of the mutation for changes of a key: null removes a limit, which is named in `clear`. */
export function keyChanges<Changes extends Readonly<Record<string, unknown>>>(changes: Changes) {
  const set = Object.fromEntries(Object.entries(changes).filter(([, value]) => value !== null));
  const clear = (Object.keys(LIMITS) as Limit[])
    .filter((name) => changes[name] === null)
    .map((name) => LIMITS[name]);
  return { ...(set as { readonly [Name in keyof Changes]: NonNullable<Changes[Name]> }), clear };
}

const MINUTE_MS = 60_000;

/** A time as a field of the form shows it: in this computer's time zone, to the minute. */
export function localTime(at: string): string {
  const date = new Date(at);
  return new Date(date.getTime() - date.getTimezoneOffset() * MINUTE_MS).toISOString().slice(0, 16);
}
