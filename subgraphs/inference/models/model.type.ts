import "../../shared/schema/reflect.ts";
import { Directive, Field, ObjectType } from "type-graphql";
import type { Model, ServiceType as Type } from "../../../src/inference/providers/provider.ts";
import { defineNodeResolvers, NodeType } from "../../shared/nodes/node.type.ts";
import { defineCountedConnection } from "../../shared/schema/connection.ts";
import { ServiceType } from "../../shared/schema/service-type.ts";

/** A model. The rest of its fields are resolved. */
@Directive('@key(fields: "id")')
@ObjectType("Model", {
  description: "A model offered by one or more providers.",
  implements: NodeType,
  simpleResolvers: true,
})
export class ModelType {
  @Field(() => ServiceType, { description: "The type of the model's service." })
  serviceType!: Type;
}

/** The global id of a model, and its raw id. */
export const ModelNodeResolvers = defineNodeResolvers<Model>(() => ModelType, {
  name: "Model",
  keyOf: ({ id }) => id,
  raw: { field: "modelId", description: "The model's id: `model` of an inference request." },
});

/** A list of models. */
export const ModelConnection = defineCountedConnection("Model", () => ModelType);
