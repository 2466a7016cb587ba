import "../shared/schema/reflect.ts";
import { Directive, Field, ObjectType } from "type-graphql";
import { AddressScalar } from "../shared/schema/scalars.ts";

/** A provider of the inference subgraph, which this subgraph extends with its registry row on chain. */
@Directive('@key(fields: "address")')
@ObjectType("Provider", { simpleResolvers: true })
export class ProviderStub {
  @Field(() => AddressScalar)
  address!: string;
}

/** The provider of an address that another subgraph sent. */
export function findProvider({ address }: { readonly address: unknown }): ProviderStub {
  return { address: AddressScalar.parseValue(address) };
}
