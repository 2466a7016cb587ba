import "../../shared/schema/reflect.ts";
import { Directive, Field, ID, ObjectType } from "type-graphql";
import type { ServiceType as Type } from "../../../src/inference/providers/provider.ts";
import { defineConnection } from "../../shared/schema/connection.ts";
import { AddressScalar } from "../../shared/schema/scalars.ts";
import { ServiceType } from "../../shared/schema/service-type.ts";

/** A provider and its offer. The rest of its fields are resolved. */
@Directive('@key(fields: "address")')
@ObjectType("Provider", {
  description: "A provider of inference, as last read from the registry.",
  simpleResolvers: true,
})
export class ProviderType {
  @Field(() => ID, { description: "The provider's address in lower case." })
  id!: string;

  @Field(() => AddressScalar, { description: "The wallet address under which the provider is registered." })
  address!: string;

  @Field(() => ServiceType, { description: "The type of the provider's service." })
  serviceType!: Type;

  @Field(() => String, { description: "The URL of the provider's service." })
  url!: string;

  @Field(() => String, {
    description: "How the provider's answers can be verified, such as `TeeML`. Empty if they cannot.",
  })
  verifiability!: string;
}

/** A list of providers. */
export const ProviderConnection = defineConnection("Provider", () => ProviderType);
