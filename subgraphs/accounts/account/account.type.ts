import "../../shared/schema/reflect.ts";
import { Directive, Field, ID, ObjectType } from "type-graphql";
import { AddressScalar } from "../../shared/schema/scalars.ts";

/** An account. Its existence is public; its private data is only for the account itself. */
@Directive('@key(fields: "address")')
@ObjectType("Account", {
  description:
    "A wallet's account. Its private fields are null, with an error, for every caller but the account itself.",
  simpleResolvers: true,
})
export class AccountType {
  @Field(() => ID, { description: "The account's address in lower case." })
  id!: string;

  @Field(() => AddressScalar, { description: "The wallet's address." })
  address!: string;
}

/** The account of an address in lower case. */
export function toAccount(address: string): AccountType {
  return { id: address, address };
}
