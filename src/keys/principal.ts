import { AppError } from "../kernel/errors.ts";

/** The four scopes of a management key (SPEC 2.3). */
export const SCOPES = ["account:read", "keys:read", "keys:create", "keys:manage"] as const;
export type Scope = (typeof SCOPES)[number];

/** Who is calling. Parsed once at the door; no service sees a header. Addresses are in lower case. */
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

/**
 * Whom a door lets in: everyone, `sk-` keys, wallet sessions alone, or management keys with a scope (a wallet session
 * has every scope).
 */
export type Access = "public" | "inference" | "session" | Scope;

/**
 * Returns the account in whose name `principal` may pass, or throws `missing_authorization` or `insufficient_scope`.
 * Both faces ask here, so that REST and the graph cannot come to disagree (SPEC 5.3).
 */
export function authorize(principal: Principal, access: Exclude<Access, "public">): string {
  if (principal.kind === "anonymous")
    throw new AppError("missing_authorization", "Send a key as `Authorization: Bearer <key>`.");
  if (access === "inference") {
    if (principal.kind === "api-key") return principal.account;
    throw new AppError(
      "insufficient_scope",
      "This credential is not allowed to run inference; use an sk- key.",
    );
  }
  if (principal.kind === "wallet-session") return principal.account;
  if (access === "session")
    throw new AppError("insufficient_scope", "Only a wallet session may do this: sign in with the wallet.");
  if (principal.kind === "management-key" && principal.scopes.includes(access)) return principal.account;
  throw new AppError(
    "insufficient_scope",
    access === "account:read"
      ? "This credential is not allowed to access account endpoints."
      : `This credential lacks the scope ${access}.`,
  );
}
