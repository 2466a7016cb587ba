import "../../shared/schema/reflect.ts";
import { Field, ObjectType } from "type-graphql";
import { type Principal, SCOPES, type Scope } from "../../../src/keys/auth/principal.ts";
import { defineEnum } from "../../shared/schema/enumeration.ts";
import { ManagementScope } from "../management-keys/management-scope.type.ts";

/** How the caller is authenticated. */
const PrincipalKind = defineEnum<Principal["kind"]>("PrincipalKind", "How the caller is authenticated.", {
  anonymous: "No credential.",
  "api-key": "An `sk-` key: inference only, no access to the account.",
  "management-key": "An `mk-` key: what its scopes allow.",
  "wallet-session":
    "A wallet session: full access to the account, but no inference, which is paid with an `sk-` key.",
});

/** The caller. */
@ObjectType("Viewer", {
  description: "The caller, and what the credential may do.",
  simpleResolvers: true,
})
export class ViewerType {
  @Field(() => PrincipalKind, { description: "How the caller is authenticated." })
  kind!: Principal["kind"];

  @Field(() => [ManagementScope], {
    description: "The scopes of the credential. Empty for `sk-` keys and without a credential.",
  })
  scopes!: readonly Scope[];
}

/** Maps a principal to its GraphQL type. */
export function toViewer(principal: Principal): ViewerType {
  const { kind } = principal;
  switch (kind) {
    case "management-key":
      return { kind, scopes: principal.scopes };
    case "wallet-session":
      return { kind, scopes: SCOPES };
    default:
      return { kind, scopes: [] };
  }
}
