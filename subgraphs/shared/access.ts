import "./schema/reflect.ts";
import { Directive } from "type-graphql";
import { type Action, PERMISSIONS, type Permission } from "../../src/keys/auth/permissions.ts";

/**
 * Tells the supergraph what a field needs, for the gateway's policy and for other routers, by the permission of the
 * action: a scope, or a wallet session. The resolver decides by the same permission. Throws for an action that `sk-`
 * keys may take: no directive can express it, and its resolvers alone decide.
 */
export function Requires(action: Action): ReturnType<typeof Directive> {
  const { apiKey, scope, session }: Permission = PERMISSIONS[action];
  if (apiKey !== "none" || !session) throw new Error(`no directive can express the permission of ${action}`);
  return Directive(
    scope === null ? '@policy(policies: [["wallet-session"]])' : `@requiresScopes(scopes: [["${scope}"]])`,
  );
}
