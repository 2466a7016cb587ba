import "../../shared/schema/reflect.ts";
import { Field, ObjectType } from "type-graphql";
import { type Principal, SCOPES, type Scope } from "../../../src/keys/auth/principal.ts";
import { defineEnum } from "../../shared/schema/enumeration.ts";
import { ManagementScope } from "../management-keys/management-scope.type.ts";

/** How a caller proved who they are. */
const PrincipalKind = defineEnum<Principal["kind"]>("PrincipalKind", "How a caller proved who they are.", {
  anonymous: "Not at all.",
  "api-key": "By an `sk-` key: inference, and nothing of the account.",
  "management-key": "By an `mk-` key: what its scopes allow.",
  "wallet-session": "By signing in with the account's wallet: everything.",
});

/** Who is asking. */
@ObjectType("Viewer", {
  description: "Who is asking, and what the credential may do.",
  simpleResolvers: true,
})
export class ViewerType {
  @Field(() => PrincipalKind, { description: "How the caller proved who they are." })
  kind!: Principal["kind"];

  @Field(() => [ManagementScope], { description: "What the credential may do with the account." })
  scopes!: readonly Scope[];
}

/** What a principal may know of itself. */
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
