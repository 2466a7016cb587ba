import "../shared/schema/reflect.ts";
import { Directive, Field, ID, ObjectType } from "type-graphql";

/** A key of the accounts subgraph, by its global id. */
@Directive('@key(fields: "id", resolvable: false)')
@ObjectType("ApiKey", { simpleResolvers: true })
export class ApiKeyStub {
  @Field(() => ID)
  id!: string;
}
