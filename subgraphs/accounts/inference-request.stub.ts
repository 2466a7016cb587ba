import "../shared/schema/reflect.ts";
import { Directive, Field, ID, ObjectType } from "type-graphql";

/** A request of the inference subgraph, by its id. */
@Directive('@key(fields: "id", resolvable: false)')
@ObjectType("InferenceRequest", { simpleResolvers: true })
export class InferenceRequestStub {
  @Field(() => ID)
  id!: string;
}
