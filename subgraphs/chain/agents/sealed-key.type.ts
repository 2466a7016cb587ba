import "../../shared/schema/reflect.ts";
import { Directive, Field, Int, ObjectType } from "type-graphql";
import type { SealedKey } from "../../../src/chain/agents/sealed-keys/sealed-key.ts";
import type { SealedKeyCause as Cause } from "../../../src/events/topics.ts";
import { defineNodeResolvers, NodeType } from "../../shared/nodes/node.type.ts";
import { defineCountedConnection } from "../../shared/schema/connection.ts";
import { defineEnum } from "../../shared/schema/enumeration.ts";
import { BigIntScalar, DateTimeScalar, Hash32Scalar, HexScalar } from "../../shared/schema/scalars.ts";

const SealedKeyCause = defineEnum<Cause>("SealedKeyCause", "Why keys were sealed for a receiver.", {
  transfer: "A token was transferred to the receiver.",
  clone: "A token was cloned for the receiver.",
  mint: "A token was minted for the receiver.",
});

/** The key of one piece of data. The rest of its fields are resolved. */
@ObjectType("DataKey", {
  description: "The key of one piece of a token's data, sealed so that only the receiver can open it.",
  simpleResolvers: true,
})
export class DataKeyType {
  @Field(() => Int, { description: "0-based index of the data within the token." })
  index!: number;

  @Field(() => Hash32Scalar, {
    nullable: true,
    description: "The data's hash at the time the key was sealed. Null if unknown.",
  })
  dataHash!: string | null;

  @Field(() => HexScalar, { description: "The sealed key. The contract does not specify the encryption." })
  key!: string;

  @Field(() => Int, {
    description: "The size of the key on chain, in bytes; `key` has at most the first 4,096.",
  })
  sizeBytes!: number;

  @Field(() => Boolean, { description: "Whether `key` is shorter than the key on chain." })
  truncated!: boolean;
}

/** Sealed keys. The rest of its fields are resolved. */
@Directive('@key(fields: "id")')
@ObjectType("SealedKey", {
  description:
    "The keys of a token's data, sealed for a receiver: one for each piece, in the order of the data.",
  implements: NodeType,
  simpleResolvers: true,
})
export class SealedKeyType {
  @Field(() => SealedKeyCause, { description: "Why the keys were sealed." })
  cause!: Cause;

  @Field(() => Int, { description: "The number of keys on chain. `keys` has at most the first 256." })
  keyCount!: number;

  @Field(() => BigIntScalar, { description: "The block of the event." })
  blockNumber!: bigint;

  @Field(() => Hash32Scalar, { description: "The hash of the event's block." })
  blockHash!: string;

  @Field(() => Hash32Scalar, { description: "The transaction of the event." })
  transactionHash!: string;

  @Field(() => DateTimeScalar, { description: "When the event was first seen by this service." })
  seenAt!: Date;
}

/** The global id of sealed keys: of their event's block and log position, so that another block gives another id. */
export const SealedKeyNodeResolvers = defineNodeResolvers<SealedKey>(() => SealedKeyType, {
  name: "SealedKey",
  keyOf: ({ id }) => id,
  raw: {
    field: "eventId",
    description: "The event's block and log position. The same keys in another block have a different id.",
  },
});

/** A list of sealed keys. */
export const SealedKeyConnection = defineCountedConnection("SealedKey", () => SealedKeyType);
