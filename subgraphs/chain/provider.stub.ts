import "../shared/schema/reflect.ts";
import { Directive, Field, ObjectType } from "type-graphql";
import { AddressScalar } from "../shared/schema/scalars.ts";

/** A provider of the inference subgraph, to which this one adds its row on chain. */
@Directive('@key(fields: "address")')
@ObjectType("Provider", { simpleResolvers: true })
export class ProviderStub {
  @Field(() => AddressScalar)
  address!: string;
}

/** The provider behind an address that another subgraph sent. */
export function findProvider({ address }: { readonly address: unknown }): ProviderStub {
  return { address: AddressScalar.parseValue(address) };
}
