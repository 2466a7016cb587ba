import "../../shared/schema/reflect.ts";
import { Directive, Field, ID, ObjectType } from "type-graphql";
import type { ServiceType as Type } from "../../../src/inference/providers/provider.ts";
import { defineConnection } from "../../shared/schema/connection.ts";
import { AddressScalar } from "../../shared/schema/scalars.ts";
import { ServiceType } from "../../shared/schema/service-type.ts";

/** A provider and its offer. The rest of its fields are resolved. */
@Directive('@key(fields: "address")')
@ObjectType("Provider", {
  description: "Who offers models, as the router last read the registry.",
  simpleResolvers: true,
})
export class ProviderType {
  @Field(() => ID, { description: "Its address in lower case." })
  id!: string;

  @Field(() => AddressScalar, { description: "The wallet under which it is registered." })
  address!: string;

  @Field(() => ServiceType, { description: "What its service does." })
  serviceType!: Type;

  @Field(() => String, { description: "Where its service is." })
  url!: string;

  @Field(() => String, {
    description: "How its answers may be verified, such as `TeeML`; empty when they may not.",
  })
  verifiability!: string;
}

/** A list of providers. */
export const ProviderConnection = defineConnection("Provider", () => ProviderType);
