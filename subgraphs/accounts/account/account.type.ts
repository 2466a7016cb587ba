import "../../shared/schema/reflect.ts";
import { Directive, Field, ObjectType } from "type-graphql";
import { defineNodeResolvers, NodeType } from "../../shared/nodes/node.type.ts";
import { AddressScalar } from "../../shared/schema/scalars.ts";

/** An account. Its existence is public; its private data is only for the account itself. */
@Directive('@key(fields: "address")')
@ObjectType("Account", {
  description:
    "A wallet's account. Fields that require a scope or a session are private: they are null, with an error, unless the credential belongs to this account.",
  implements: NodeType,
  simpleResolvers: true,
})
export class AccountType {
  @Field(() => AddressScalar, { description: "The wallet's address." })
  address!: string;
}

/** The global id of an account. */
export const AccountNodeResolvers = defineNodeResolvers<AccountType>(() => AccountType, {
  name: "Account",
  keyOf: ({ address }) => address.toLowerCase(),
});

/** The account of an address in lower case. */
export function toAccount(address: string): AccountType {
  return { address };
}
