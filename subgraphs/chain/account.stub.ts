import "../shared/schema/reflect.ts";
import { Directive, Field, ObjectType } from "type-graphql";
import { AddressScalar } from "../shared/schema/scalars.ts";

/** An account of the accounts subgraph, which this subgraph extends with the account's on-chain data. */
@Directive('@key(fields: "address")')
@ObjectType("Account", { simpleResolvers: true })
export class AccountStub {
  @Field(() => AddressScalar)
  address!: string;
}

/** The account of an address that another subgraph sent. */
export function findAccount({ address }: { readonly address: unknown }): AccountStub {
  return { address: AddressScalar.parseValue(address) };
}
