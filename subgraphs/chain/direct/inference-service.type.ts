import "../../shared/schema/reflect.ts";
import { Field, ObjectType } from "type-graphql";
import type { InferenceService } from "../../../src/chain/direct/inference-registry.ts";
import { defineCountedConnection } from "../../shared/schema/connection.ts";
import { AddressScalar, DateTimeScalar, NeuronScalar } from "../../shared/schema/scalars.ts";

/** A row of the inference registry. */
@ObjectType("InferenceService", {
  description: "A provider's row in the inference registry on chain.",
  simpleResolvers: true,
})
export class InferenceServiceType implements Omit<InferenceService, "address"> {
  @Field(() => String, { description: "The type of the service as registered on chain, such as `chatbot`." })
  serviceType!: string;

  @Field(() => String, { name: "modelId", simple: false, description: "The model that the service offers." })
  model!: string;

  @Field(() => String, { description: "The URL of the service." })
  url!: string;

  @Field(() => NeuronScalar, { description: "The price of one input token or unit." })
  inputPrice!: bigint;

  @Field(() => NeuronScalar, { description: "The price of one output token or unit." })
  outputPrice!: bigint;

  @Field(() => String, {
    description: "How the service's answers can be verified, such as `TeeML`. Empty if they cannot.",
  })
  verifiability!: string;

  @Field(() => AddressScalar, { description: "The address of the signer in the provider's enclave." })
  teeSigner!: InferenceService["teeSigner"];

  @Field(() => Boolean, { description: "Whether the registry's owner acknowledged the signer." })
  teeAcknowledged!: boolean;

  @Field(() => Boolean, {
    name: "centralized",
    simple: false,
    description: "Whether the service declares itself a proxy for a model that runs elsewhere.",
  })
  isCentralized!: boolean;

  @Field(() => String, {
    description:
      "Additional information published by the provider: usually JSON, such as how to verify its enclave.",
  })
  additionalInfo!: string;

  @Field(() => DateTimeScalar, { description: "When the provider last changed the row." })
  updatedAt!: Date;
}

/** A list of rows of the inference registry. */
export const InferenceServiceConnection = defineCountedConnection(
  "InferenceService",
  () => InferenceServiceType,
);
