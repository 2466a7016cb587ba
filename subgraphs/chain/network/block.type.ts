import "../../shared/schema/reflect.ts";
import { Field, ObjectType } from "type-graphql";
import { BigIntScalar, DateTimeScalar, Hash32Scalar } from "../../shared/schema/scalars.ts";

/** A block of the chain. */
@ObjectType("Block", {
  description: "A block of the chain.",
  simpleResolvers: true,
})
export class BlockType {
  @Field(() => BigIntScalar, { description: "Its height." })
  number!: bigint;

  @Field(() => Hash32Scalar, { description: "Its hash." })
  hash!: string;

  @Field(() => Hash32Scalar, { description: "The hash of the block before it." })
  parentHash!: string;

  @Field(() => DateTimeScalar, { description: "When it was made, as it says itself." })
  timestamp!: Date;
}
