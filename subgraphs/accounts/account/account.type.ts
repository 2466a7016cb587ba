import "../../shared/schema/reflect.ts";
import { Directive, Field, ID, ObjectType } from "type-graphql";
import { AddressScalar } from "../../shared/schema/scalars.ts";

/** An account. That it exists is public; what it has is for itself alone. */
@Directive('@key(fields: "address")')
@ObjectType("Account", {
  description: "A wallet's account. What it has and did is null, with an error, for everyone but itself.",
  simpleResolvers: true,
})
export class AccountType {
  @Field(() => ID, { description: "Its address in lower case." })
  id!: string;

  @Field(() => AddressScalar, { description: "The wallet's address." })
  address!: string;
}

/** The account of an address in lower case. */
export function toAccount(address: string): AccountType {
  return { id: address, address };
}
