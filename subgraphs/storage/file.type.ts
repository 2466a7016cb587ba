import "../shared/reflect.ts";
import { Directive, Field, ID, ObjectType } from "type-graphql";
import { BigIntScalar, Hash32Scalar } from "../shared/scalars.ts";

/** A file. The rest of its fields are resolved. */
@Directive('@key(fields: "root")')
@ObjectType("File", {
  description: "A file that was submitted to the storage network, once or several times.",
  simpleResolvers: true,
})
export class FileType {
  @Field(() => ID, { description: "Its root." })
  id!: string;

  @Field(() => Hash32Scalar, { description: "Its merkle root." })
  root!: string;

  @Field(() => BigIntScalar, { description: "The sequence number of its first submission." })
  firstTxSeq!: bigint;
}
