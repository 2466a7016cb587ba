import "../../shared/schema/reflect.ts";
import { Field, ID, ObjectType } from "type-graphql";
import type { ServiceType as Type } from "../../../src/inference/providers/provider.ts";
import { defineConnection } from "../../shared/schema/connection.ts";
import { ServiceType } from "../../shared/schema/service-type.ts";

/** A model. The rest of its fields are resolved. */
@ObjectType("Model", {
  description: "A model offered by one or more providers.",
  simpleResolvers: true,
})
export class ModelType {
  @Field(() => ID, { description: "The model's id: `model` in an inference request." })
  id!: string;

  @Field(() => ServiceType, { description: "The type of the model's service." })
  serviceType!: Type;
}

/** A list of models. */
export const ModelConnection = defineConnection("Model", () => ModelType);
