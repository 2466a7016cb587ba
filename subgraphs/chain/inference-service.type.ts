import "../shared/reflect.ts";
import { Field, ObjectType } from "type-graphql";
import type { Provider, ServiceType as Type } from "../../src/inference/provider.ts";
import { AddressScalar, DateTimeScalar, NeuronScalar } from "../shared/scalars.ts";
import { ServiceType } from "../shared/service-type.ts";

/** A row of the inference registry. */
@ObjectType("InferenceService", {
  description: "A provider's row in the inference registry on chain.",
  simpleResolvers: true,
})
export class InferenceServiceType implements Omit<Provider, "address"> {
  @Field(() => ServiceType, { description: "What the service does." })
  serviceType!: Type;

  @Field(() => String, { description: "The model that it offers." })
  model!: string;

  @Field(() => String, { description: "Where it is." })
  url!: string;

  @Field(() => NeuronScalar, { description: "What it asks for one token or unit of input." })
  inputPrice!: bigint;

  @Field(() => NeuronScalar, { description: "What it asks for one token or unit of output." })
  outputPrice!: bigint;

  @Field(() => String, {
    description: "How its answers may be verified, such as `TeeML`; empty when they may not.",
  })
  verifiability!: string;

  @Field(() => AddressScalar, { description: "Who signs in its enclave." })
  teeSigner!: Provider["teeSigner"];

  @Field(() => Boolean, { description: "Whether the registry's owner acknowledged that signer." })
  teeAcknowledged!: boolean;

  @Field(() => DateTimeScalar, { description: "When the provider last changed the row." })
  updatedAt!: Date;
}
