import "../shared/schema/reflect.ts";
import { ArgsType, Field, ObjectType } from "type-graphql";
import type { Hex } from "../../src/kernel/text/hex.ts";
import { defineConnection, PageArgs } from "../shared/schema/connection.ts";
import { BigIntScalar, DateTimeScalar, Hash32Scalar, HexScalar } from "../shared/schema/scalars.ts";

/** A stream. The rest of its fields are resolved. */
@ObjectType("KvStream", {
  description: "A key-value stream: keys with values, and accounts that may write them.",
  simpleResolvers: true,
})
export class KvStreamType {
  @Field(() => Hash32Scalar, { description: "Its id, which whoever wrote to it first has chosen." })
  streamId!: Hex;

  @Field(() => BigIntScalar, {
    description: "The sequence number of the first transaction that wrote to it.",
  })
  firstVersion!: bigint;
}

/** A key. The rest of its fields are resolved. */
@ObjectType("KvEntry", { description: "A key of a stream at one version.", simpleResolvers: true })
export class KvEntryType {
  @Field(() => Hash32Scalar, { description: "The stream." })
  streamId!: Hex;

  @Field(() => BigIntScalar, { description: "The sequence number of the transaction that wrote it." })
  version!: bigint;
}

/** A transaction. The rest of its fields are resolved. */
@ObjectType("KvTransaction", {
  description: "What became of a transaction on key-value streams.",
  simpleResolvers: true,
})
export class KvTransactionType {
  @Field(() => BigIntScalar, { description: "Its sequence number: the version of what it wrote." })
  txSeq!: bigint;

  @Field(() => String, {
    nullable: true,
    description:
      "`Commit`, or why it was refused, in the words of the network's nodes; null when its streams are not held here.",
  })
  result!: string | null;

  @Field(() => Boolean, { description: "Whether it took effect." })
  isCommitted!: boolean;

  @Field(() => DateTimeScalar, { description: "When that was decided here." })
  decidedAt!: Date;
}

/** What an account may do. */
@ObjectType("KvRights", {
  description: "What an account may do with a stream and a key.",
  simpleResolvers: true,
})
export class KvRightsType {
  @Field(() => Boolean, { description: "Whether it may do everything." })
  isAdmin!: boolean;

  @Field(() => Boolean, { description: "Whether it may write to keys that are not special." })
  isWriterOfStream!: boolean;

  @Field(() => Boolean, { description: "Whether the key has writers of its own." })
  isSpecialKey!: boolean;

  @Field(() => Boolean, { description: "Whether it is one of those." })
  isWriterOfKey!: boolean;

  @Field(() => Boolean, { description: "Whether it may write to the key; without a key, to any." })
  hasWritePermission!: boolean;
}

/** Which keys of a stream are listed. */
@ArgsType()
export class KvEntriesArgs extends PageArgs {
  @Field(() => HexScalar, { nullable: true, description: "Only keys that begin with these bytes." })
  prefix!: Hex | null | undefined;

  @Field(() => String, { nullable: true, description: "Only keys that begin with this text." })
  prefixText!: string | null | undefined;

  @Field(() => BigIntScalar, { nullable: true, description: "As of this version; the latest without." })
  version!: string | null | undefined;

  @Field(() => Boolean, { defaultValue: false, description: "From the last key to the first." })
  reverse!: boolean;
}

/** Which key is meant. */
@ArgsType()
export class KvKeyArgs {
  @Field(() => HexScalar, { nullable: true, description: "The key's bytes; this or `keyText`." })
  key!: Hex | null | undefined;

  @Field(() => String, { nullable: true, description: "The key as text in UTF-8." })
  keyText!: string | null | undefined;

  @Field(() => BigIntScalar, { nullable: true, description: "As of this version; the latest without." })
  version!: string | null | undefined;
}

/** Which key of which stream is meant. */
@ArgsType()
export class KvValueArgs extends KvKeyArgs {
  @Field(() => Hash32Scalar, { description: "The stream." })
  streamId!: Hex;
}

/** A list of streams. */
export const KvStreamConnection = defineConnection("KvStream", () => KvStreamType);
/** A list of keys. */
export const KvEntryConnection = defineConnection("KvEntry", () => KvEntryType);
