/** The four scopes of a management key (SPEC 2.3). */
export const SCOPES = ["account:read", "keys:read", "keys:create", "keys:manage"] as const;
export type Scope = (typeof SCOPES)[number];

/**
 * The authenticated caller. Parsed once by the authenticator; no service reads a header. Addresses are in lower case.
 */
export type Principal =
  | { readonly kind: "anonymous" }
  | { readonly kind: "api-key"; readonly account: string; readonly keyId: string }
  | {
      readonly kind: "management-key";
      readonly account: string;
      readonly keyId: string;
      readonly scopes: readonly Scope[];
    }
  | { readonly kind: "wallet-session"; readonly account: string; readonly sessionId: string };

export const ANONYMOUS: Principal = { kind: "anonymous" };
