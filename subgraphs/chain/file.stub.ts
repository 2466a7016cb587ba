import "../shared/schema/reflect.ts";
import { Directive, Field, ObjectType } from "type-graphql";
import { Hash32Scalar } from "../shared/schema/scalars.ts";

/** A file of the storage subgraph, by its root. */
@Directive('@key(fields: "root", resolvable: false)')
@ObjectType("File", { simpleResolvers: true })
export class FileStub {
  @Field(() => Hash32Scalar)
  root!: string;
}
