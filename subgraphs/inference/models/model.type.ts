import "../../shared/schema/reflect.ts";
import { Field, ID, ObjectType } from "type-graphql";
import type { ServiceType as Type } from "../../../src/inference/providers/provider.ts";
import { defineConnection } from "../../shared/schema/connection.ts";
import { ServiceType } from "../../shared/schema/service-type.ts";

/** A model. The rest of its fields are resolved. */
@ObjectType("Model", {
  description: "A model that one provider or several offer.",
  simpleResolvers: true,
})
export class ModelType {
  @Field(() => ID, { description: "Its id: the `model` of an inference request." })
  id!: string;

  @Field(() => ServiceType, { description: "What it does." })
  serviceType!: Type;
}

/** A list of models. */
export const ModelConnection = defineConnection("Model", () => ModelType);
