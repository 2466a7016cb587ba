import "./schema/reflect.ts";
import { Directive } from "type-graphql";
import { type Action, PERMISSIONS, type Permission } from "../../src/keys/auth/permissions.ts";

/**
 * Declares in the supergraph what a field requires, for the gateway's policy and for other routers, from the
 * permission of the action: a scope, a wallet session, or an `sk-` key. The resolver checks the same permission. Throws
 * for an action of several kinds of credentials, or of keys on their own objects: no directive can express it, and only
 * its resolvers decide.
 */
export function Requires(action: Action): ReturnType<typeof Directive> {
  const { apiKey, scope, session }: Permission = PERMISSIONS[action];
  if (apiKey === "all" && scope === null && !session) return Directive('@policy(policies: [["api-key"]])');
  if (apiKey !== "none" || !session) throw new Error(`no directive can express the permission of ${action}`);
  return Directive(
    scope === null ? '@policy(policies: [["wallet-session"]])' : `@requiresScopes(scopes: [["${scope}"]])`,
  );
}
