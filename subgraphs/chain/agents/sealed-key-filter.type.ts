import "../../shared/schema/reflect.ts";
import { ArgsType, Field, InputType } from "type-graphql";
import type { Hex } from "../../../src/kernel/text/hex.ts";
import { PageArgs } from "../../shared/schema/connection.ts";
import { AddressScalar, BigIntScalar } from "../../shared/schema/scalars.ts";

/** The filter of a list of sealed keys. */
@InputType("SealedKeyFilterInput", {
  description: "Lists only sealed keys that meet every given condition.",
})
class SealedKeyFilterInput {
  @Field(() => AddressScalar, { nullable: true, description: "Keys of tokens of this contract." })
  contract!: Hex | null | undefined;

  @Field(() => BigIntScalar, { nullable: true, description: "Keys of tokens with this id." })
  tokenId!: string | null | undefined;
}

/** The arguments of a list of sealed keys. */
@ArgsType()
export class SealedKeysArgs extends PageArgs {
  @Field(() => AddressScalar, { description: "The receiver's address." })
  to!: Hex;

  @Field(() => SealedKeyFilterInput, { nullable: true, description: "Which keys to list. Default: all." })
  filter!: SealedKeyFilterInput | null | undefined;
}
