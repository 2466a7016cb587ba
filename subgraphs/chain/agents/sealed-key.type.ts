import "../../shared/schema/reflect.ts";
import { Field, ID, Int, ObjectType } from "type-graphql";
import type { SealedKeysService } from "../../../src/chain/agents/sealed-keys.service.ts";
import { defineConnection } from "../../shared/schema/connection.ts";
import { defineEnum } from "../../shared/schema/enumeration.ts";
import { BigIntScalar, DateTimeScalar, Hash32Scalar, HexScalar } from "../../shared/schema/scalars.ts";

/** A sealed key as the service gives it. */
export type SealedKey = Awaited<ReturnType<SealedKeysService["list"]>>["rows"][number];

const SealedKeyCause = defineEnum<SealedKey["cause"]>(
  "SealedKeyCause",
  "Why keys were sealed for a receiver.",
  {
    transfer: "A token moved to it.",
    clone: "A token was cloned for it.",
    mint: "A token was minted for it.",
  },
);

/** The key of one piece of data. The rest of its fields are resolved. */
@ObjectType("DataKey", {
  description: "The key of one piece of a token's data, sealed so that only the receiver can open it.",
  simpleResolvers: true,
})
export class DataKeyType {
  @Field(() => Int, { description: "The place of the data among the token's." })
  index!: number;

  @Field(() => Hash32Scalar, {
    nullable: true,
    description: "The data's hash, as it was when the key was sealed.",
  })
  dataHash!: string | null;

  @Field(() => HexScalar, { description: "The sealed key; how it is sealed, the contract does not say." })
  key!: string;

  @Field(() => Int, { description: "How many bytes it has on chain." })
  sizeBytes!: number;

  @Field(() => Boolean, { description: "Whether it is cut after 4,096 bytes here." })
  truncated!: boolean;
}

/** Sealed keys. The rest of its fields are resolved. */
@ObjectType("SealedKey", {
  description: "The keys of a token's data, sealed for a receiver: one for each piece, in their order.",
  simpleResolvers: true,
})
export class SealedKeyType {
  @Field(() => ID, { description: "Its block and place: the same keys in another block are others." })
  id!: string;

  @Field(() => SealedKeyCause, { description: "Why they were sealed." })
  cause!: SealedKey["cause"];

  @Field(() => Int, { description: "How many keys there were; of more than 256 the rest is left out." })
  keyCount!: number;

  @Field(() => BigIntScalar, { description: "The block of it." })
  blockNumber!: bigint;

  @Field(() => Hash32Scalar, { description: "The hash of that block." })
  blockHash!: string;

  @Field(() => Hash32Scalar, { description: "The transaction of it." })
  transactionHash!: string;

  @Field(() => DateTimeScalar, { description: "When we first saw it." })
  seenAt!: Date;
}

/** A list of sealed keys. */
export const SealedKeyConnection = defineConnection("SealedKey", () => SealedKeyType);
