import "../../shared/schema/reflect.ts";
import { Field, ObjectType } from "type-graphql";
import type { InferenceService } from "../../../src/chain/direct/inference-registry.ts";
import { defineConnection } from "../../shared/schema/connection.ts";
import { AddressScalar, DateTimeScalar, NeuronScalar } from "../../shared/schema/scalars.ts";

/** A row of the inference registry. */
@ObjectType("InferenceService", {
  description: "A provider's row in the inference registry on chain.",
  simpleResolvers: true,
})
export class InferenceServiceType implements Omit<InferenceService, "address"> {
  @Field(() => String, { description: "What the service does, such as `chatbot`, as the chain has it." })
  serviceType!: string;

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
  teeSigner!: InferenceService["teeSigner"];

  @Field(() => Boolean, { description: "Whether the registry's owner acknowledged that signer." })
  teeAcknowledged!: boolean;

  @Field(() => Boolean, {
    description: "Whether it is a proxy for a model that runs elsewhere, by its own word.",
  })
  isCentralized!: boolean;

  @Field(() => String, {
    description: "What it says of itself beyond that: usually JSON, such as how to verify its enclave.",
  })
  additionalInfo!: string;

  @Field(() => DateTimeScalar, { description: "When the provider last changed the row." })
  updatedAt!: Date;
}

/** A list of rows of the inference registry. */
export const InferenceServiceConnection = defineConnection("InferenceService", () => InferenceServiceType);
