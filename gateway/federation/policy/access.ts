import { type GraphQLSchema, isInterfaceType } from "graphql";
import { AppError } from "../../../src/kernel/errors.ts";
import { type Action, permit } from "../../../src/keys/auth/permissions.ts";
import { type Principal, SCOPES, type Scope } from "../../../src/keys/auth/principal.ts";
import type { Guard, GuardOf } from "../engine/guards.ts";
import type { SupergraphSource } from "../supergraph-source.ts";
import { readDirectiveUses } from "./schema-directives.ts";

/** Returns, or throws `missing_authorization` or `insufficient_scope`. */
type Check = (principal: Principal) => void;
type Asking = { readonly principal: Principal };

/** The meaning of the names in `@policy`. A supergraph with an unknown name is not served. */
const POLICIES: Readonly<Record<string, Check>> = {
  "wallet-session": (principal) => permit(principal, "session.read"),
  "api-key": (principal) => permit(principal, "inference.run"),
};
/** For each scope, an action that needs exactly this scope. */
const ACTIONS = {
  "account:read": "account.read",
  "keys:read": "api-key.read",
  "keys:create": "api-key.create",
  "keys:manage": "api-key.update",
} as const satisfies Record<Scope, Action>;

/**
 * The guards of a supergraph: `@authenticated`, `@requiresScopes` and `@policy` of its fields and types. A field has
 * its own guards, those of its parent type and of its return type, and, in an interface, those of every possible
 * object type. Throws for an unknown scope or policy, so that a typo opens nothing.
 */
export function createGuards(supergraph: SupergraphSource, schema: GraphQLSchema): GuardOf<Asking> {
  const checksOn = readChecks(supergraph);
  const known = new Map<string, Guard<Asking> | undefined>();
  return (parent, field, type) => {
    const key = `${parent}.${field}`;
    if (!known.has(key)) {
      const coordinates = [key, parent, type, ...implementationsOf(schema, parent, field)];
      known.set(key, toGuard(key, coordinates.flatMap(checksOn)));
    }
    return known.get(key);
  };
}

function implementationsOf(schema: GraphQLSchema, parent: string, field: string): readonly string[] {
  const type = schema.getType(parent);
  if (!isInterfaceType(type)) return [];
  const { objects, interfaces } = schema.getImplementations(type);
  return [...objects, ...interfaces].map(({ name }) => `${name}.${field}`);
}

function toGuard(id: string, checks: readonly Check[]): Guard<Asking> | undefined {
  if (checks.length === 0) return undefined;
  return {
    id,
    refuse({ principal }) {
      for (const check of checks) {
        const refusal = refusalOf(check, principal);
        if (refusal) return { code: refusal.code, message: refusal.message };
      }
      return undefined;
    },
  };
}

function readChecks(supergraph: SupergraphSource): (coordinate: string) => readonly Check[] {
  const uses = readDirectiveUses(supergraph, ["authenticated", "requiresScopes", "policy"]);
  const checks = new Map<string, Check[]>();
  const add = (coordinate: string, check: Check) =>
    checks.set(coordinate, [...(checks.get(coordinate) ?? []), check]);
  for (const coordinate of uses.authenticated?.keys() ?? []) add(coordinate, requireAnyone);
  for (const [coordinate, { scopes }] of uses.requiresScopes ?? [])
    add(coordinate, anyOf(scopes, toScopeCheck));
  for (const [coordinate, { policies }] of uses.policy ?? []) add(coordinate, anyOf(policies, toPolicyCheck));
  return (coordinate) => checks.get(coordinate) ?? [];
}

/** One group must pass, with all of its checks: the client gets the error of the first group. */
function anyOf(groups: unknown, toCheck: (name: string) => Check): Check {
  const checks = (groups as readonly (readonly string[])[]).map((group) => group.map(toCheck));
  return (principal) => {
    const refusals = checks.map((group) =>
      group.map((check) => refusalOf(check, principal)).find((refusal) => refusal !== undefined),
    );
    const [first] = refusals;
    if (first && refusals.every((refusal) => refusal !== undefined)) throw first;
  };
}

function toScopeCheck(name: string): Check {
  if (!isScope(name)) throw new Error(`the supergraph requires the unknown scope ${name}`);
  return (principal) => permit(principal, ACTIONS[name]);
}

function toPolicyCheck(name: string): Check {
  const check = POLICIES[name];
  if (!check) throw new Error(`the supergraph names the unknown policy ${name}`);
  return check;
}

const requireAnyone: Check = ({ kind }) => {
  if (kind === "anonymous")
    throw new AppError("missing_authorization", "Send a key as `Authorization: Bearer <key>`.");
};

function refusalOf(check: Check, principal: Principal): AppError | undefined {
  try {
    check(principal);
    return undefined;
  } catch (error) {
    if (error instanceof AppError) return error;
    throw error;
  }
}

function isScope(name: string): name is Scope {
  return (SCOPES as readonly string[]).includes(name);
}
