import { AppError } from "../../kernel/errors.ts";
import type { Principal, Scope } from "./principal.ts";

/** The credentials of an account that may perform an action, and on which objects of the account. */
export type Permission = {
  /** `sk-` keys: on every object, on the objects that the key itself created, or not at all. */
  readonly apiKey: "all" | "own" | "none";
  /** The scope that a management key needs; null if management keys are never permitted. */
  readonly scope: Scope | null;
  /** Wallet sessions: the account itself. */
  readonly session: boolean;
};

const SPENDING = { apiKey: "all", scope: null, session: false } as const;
const SESSION_ONLY = { apiKey: "none", scope: null, session: true } as const;
const withScope = (scope: Scope) => ({ apiKey: "none", scope, session: true }) as const;

/**
 * Every action that is not public, and who may perform it. Both APIs check permissions only here, so that REST and
 * GraphQL cannot diverge (SPEC 5.3): a route names its action in `access`, a field in `@Requires` and its resolver. A
 * subscription needs the permission to read.
 */
export const PERMISSIONS = {
  "inference.run": SPENDING,
  "routing.preview": SPENDING,
  "job.submit": SPENDING,
  /** The state of a job: its status, model, provider, progress and failure. */
  "job.read": { apiKey: "own", scope: "account:read", session: true },
  /** The result of a job. A management key never reads content; the wallet does, even after the key was revoked. */
  "job.content": { apiKey: "own", scope: null, session: true },
  "job.cancel": { apiKey: "own", scope: null, session: true },
  "account.read": withScope("account:read"),
  "balance.read": withScope("account:read"),
  "deposit.read": withScope("account:read"),
  "usage.read": withScope("account:read"),
  /** Billed requests of every key, and the evidence of their responses. */
  "request.read": withScope("account:read"),
  /** The receipts of billed requests. */
  "receipt.read": { apiKey: "own", scope: "account:read", session: true },
  /** One billed request and its cost. */
  "generation.read": { apiKey: "own", scope: "account:read", session: true },
  /** The settings and the spending of the `sk-` key of the caller. */
  "own-key.read": { apiKey: "own", scope: null, session: false },
  /** What the account ever had, and what it used. */
  "credits.read": { apiKey: "all", scope: "account:read", session: true },
  "api-key.read": withScope("keys:read"),
  "api-key.create": withScope("keys:create"),
  "api-key.update": withScope("keys:manage"),
  "api-key.revoke": withScope("keys:manage"),
  "management-key.read": SESSION_ONLY,
  "management-key.create": SESSION_ONLY,
  "management-key.update": SESSION_ONLY,
  "management-key.revoke": SESSION_ONLY,
  "tag-budget.read": withScope("account:read"),
  /** To create, change and delete budgets of tags. */
  "tag-budget.manage": withScope("keys:manage"),
  "webhook.read": withScope("account:read"),
  /** To create, change, test and replay webhooks; their events also need the permission to read each. */
  "webhook.manage": withScope("keys:manage"),
  "session.read": SESSION_ONLY,
  "session.end": SESSION_ONLY,
  /** The operator's node; the account must also be an operator's. */
  "node.read": withScope("account:read"),
  /** The state of all processes; the account must also be an operator's. */
  "operations.read": withScope("account:read"),
  /** To act on all processes; the account must also be an operator's. */
  "operations.manage": SESSION_ONLY,
} as const satisfies Record<string, Permission>;

/** The name of an action. */
export type Action = keyof typeof PERMISSIONS;

/** The objects that a permitted action may access: those of the account; with `keyId`, only those of this key. */
export type Reach = { readonly account: string; readonly keyId?: string | undefined };

/** The account of an object, and the key that created it. */
export type Owner = { readonly account: string; readonly keyId: string | null };

/** An `sk-` key that spends on behalf of its account. */
export type Spender = { readonly account: string; readonly keyId: string };

/**
 * Permits an action and returns the objects that it may access. Throws `missing_authorization` for anonymous callers
 * and `insufficient_scope` for credentials that may not perform it.
 */
export function permit(principal: Principal, action: Action): Reach {
  if (principal.kind === "anonymous")
    throw new AppError("missing_authorization", "Send a key as `Authorization: Bearer <key>`.");
  const permission: Permission = PERMISSIONS[action];
  if (!isAllowed(principal, permission)) throw new AppError("insufficient_scope", refusalOf(permission));
  const { account } = principal;
  return principal.kind === "api-key" && permission.apiKey === "own"
    ? { account, keyId: principal.keyId }
    : { account };
}

/** Whether `permit` would permit it. */
export function isPermitted(principal: Principal, action: Action): boolean {
  return principal.kind !== "anonymous" && isAllowed(principal, PERMISSIONS[action]);
}

/** The reason that `permit` would give for refusing it; undefined if it would permit it. */
export function refusalFor(principal: Principal, action: Action): string | undefined {
  return isPermitted(principal, action) ? undefined : refusalOf(PERMISSIONS[action]);
}

/** Permits an action on the account with this address. Throws what `permit` throws, also for another account. */
export function permitOn(principal: Principal, action: Action, account: string): void {
  if (permit(principal, action).account === account) return;
  throw new AppError("insufficient_scope", "This credential is not allowed to read another account.");
}

/**
 * The account of a credential that may read parts of it. Throws `missing_authorization` for anonymous callers and
 * `insufficient_scope` for `sk-` keys, which cannot read their account (SPEC 5.3).
 */
export function accountOf(principal: Principal): string {
  if (principal.kind === "anonymous")
    throw new AppError("missing_authorization", "Send a key as `Authorization: Bearer <key>`.");
  if (principal.kind === "api-key")
    throw new AppError("insufficient_scope", "An sk- key cannot read its account; use an mk- key.");
  return principal.account;
}

/** Permits an action that only `sk-` keys may perform, and returns the key. Throws what `permit` throws. */
export function permitSpender(principal: Principal, action: Action): Spender {
  const { account } = permit(principal, action);
  if (principal.kind === "api-key") return { account, keyId: principal.keyId };
  throw new AppError("insufficient_scope", refusalOf(SPENDING));
}

/** Whether an object is within reach. */
export function reaches({ account, keyId }: Reach, owner: Owner): boolean {
  return owner.account === account && (keyId === undefined || owner.keyId === keyId);
}

function isAllowed(
  principal: Exclude<Principal, { kind: "anonymous" }>,
  { apiKey, scope, session }: Permission,
): boolean {
  switch (principal.kind) {
    case "api-key":
      return apiKey !== "none";
    case "management-key":
      return scope !== null && principal.scopes.includes(scope);
    case "wallet-session":
      return session;
  }
}

function refusalOf({ apiKey, scope, session }: Permission): string {
  if (scope === "account:read") return "This credential is not allowed to access account endpoints.";
  if (scope !== null) return `This credential lacks the scope ${scope}.`;
  if (apiKey === "all") return "This credential is not allowed to run inference; use an sk- key.";
  if (apiKey === "own" && !session) return "Only an sk- key may read itself.";
  if (apiKey === "own") return "Use the sk- key that created it, or a wallet session.";
  return "Only a wallet session may do this: sign in with the wallet.";
}
