import "../../shared/schema/reflect.ts";
import { Directive, Field, ObjectType } from "type-graphql";
import type { Provider, ServiceType as Type } from "../../../src/inference/providers/provider.ts";
import { defineNodeResolvers, NodeType } from "../../shared/nodes/node.type.ts";
import { defineCountedConnection } from "../../shared/schema/connection.ts";
import { AddressScalar } from "../../shared/schema/scalars.ts";
import { ServiceType } from "../../shared/schema/service-type.ts";

/** A provider and its offer. The rest of its fields are resolved. */
@Directive('@key(fields: "address")')
@Directive('@key(fields: "id")')
@ObjectType("Provider", {
  description: "A provider of inference, as last read from the registry.",
  implements: NodeType,
  simpleResolvers: true,
})
export class ProviderType {
  @Field(() => AddressScalar, { description: "The wallet address under which the provider is registered." })
  address!: string;

  @Field(() => ServiceType, { description: "The type of the provider's service." })
  serviceType!: Type;

  @Field(() => String, {
    description: "How the provider's answers can be verified, such as `TeeML`. Empty if they cannot.",
  })
  verifiability!: string;
}

/** The global id of a provider. */
export const ProviderNodeResolvers = defineNodeResolvers<Provider>(() => ProviderType, {
  name: "Provider",
  keyOf: ({ address }) => address.toLowerCase(),
});

/** A list of providers. */
export const ProviderConnection = defineCountedConnection("Provider", () => ProviderType);
