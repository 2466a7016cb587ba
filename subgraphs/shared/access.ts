import "./reflect.ts";
import { Directive } from "type-graphql";
import { AppError } from "../../src/kernel/errors.ts";
import { authorize, type Principal, type Scope } from "../../src/keys/principal.ts";

/** Tells the supergraph which scope a field needs, for the gateway's policy. The resolver remains who decides. */
export function RequiresScope(scope: Scope): ReturnType<typeof Directive> {
  return Directive(`@requiresScopes(scopes: [["${scope}"]])`);
}

/** Tells the supergraph that a field needs a wallet session, for the gateway's policy. The resolver remains who decides. */
export function RequiresSession(): ReturnType<typeof Directive> {
  return Directive('@policy(policies: [["wallet-session"]])');
}

/** Lets only the account itself pass, with `access`; throws `missing_authorization` or `insufficient_scope`. */
export function authorizeOwn(principal: Principal, account: string, access: Scope | "session"): void {
  if (authorize(principal, access) === account) return;
  throw new AppError("insufficient_scope", "This credential is not allowed to read another account.");
}

/**
 * Lets who may ask for jobs, an `sk-` key, and who may read the account see its jobs, and says whose they are; throws
 * `missing_authorization` or `insufficient_scope`.
 */
export function authorizeJobs(principal: Principal): string {
  return authorize(principal, principal.kind === "api-key" ? "inference" : "account:read");
}

/** Lets only an `sk-` key pass, and says whose it is; throws `missing_authorization` or `insufficient_scope`. */
export function authorizeKey(principal: Principal): { readonly account: string; readonly keyId: string } {
  const account = authorize(principal, "inference");
  if (principal.kind === "api-key") return { account, keyId: principal.keyId };
  throw new AppError("insufficient_scope", "Use an sk- key.");
}
