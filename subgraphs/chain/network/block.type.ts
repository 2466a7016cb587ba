import "../../shared/schema/reflect.ts";
import { Field, ObjectType } from "type-graphql";
import { BigIntScalar, DateTimeScalar, Hash32Scalar } from "../../shared/schema/scalars.ts";

/** A block of the chain. */
@ObjectType("Block", {
  description: "A block of the chain.",
  simpleResolvers: true,
})
export class BlockType {
  @Field(() => BigIntScalar, { description: "The block's height." })
  number!: bigint;

  @Field(() => Hash32Scalar, { description: "The block's hash." })
  hash!: string;

  @Field(() => Hash32Scalar, { description: "The hash of the parent block." })
  parentHash!: string;

  @Field(() => DateTimeScalar, { description: "The block's timestamp." })
  timestamp!: Date;
}
