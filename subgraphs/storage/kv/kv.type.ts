import "../../shared/schema/reflect.ts";
import { ArgsType, Directive, Field, ObjectType } from "type-graphql";
import type { Hex } from "../../../src/kernel/text/hex.ts";
import { defineNodeResolvers, NodeType } from "../../shared/nodes/node.type.ts";
import { defineConnection, PageArgs } from "../../shared/schema/connection.ts";
import { BigIntScalar, DateTimeScalar, Hash32Scalar, HexScalar } from "../../shared/schema/scalars.ts";

/** A stream. The rest of its fields are resolved. */
@Directive('@key(fields: "id")')
@ObjectType("KvStream", {
  description: "A key-value stream: keys with values, and the accounts that may write them.",
  implements: NodeType,
  simpleResolvers: true,
})
export class KvStreamType {
  @Field(() => Hash32Scalar, { description: "The stream's id, chosen by its first writer." })
  streamId!: Hex;

  @Field(() => BigIntScalar, {
    description: "The `txSeq` of the first transaction that wrote to the stream.",
  })
  firstVersion!: bigint;
}

/** A key. The rest of its fields are resolved. */
@ObjectType("KvEntry", { description: "A key of a stream at one version.", simpleResolvers: true })
export class KvEntryType {
  @Field(() => Hash32Scalar, { description: "The id of the stream." })
  streamId!: Hex;

  @Field(() => BigIntScalar, { description: "The version: the `txSeq` of the transaction that wrote it." })
  version!: bigint;
}

/** A transaction. The rest of its fields are resolved. */
@Directive('@key(fields: "id")')
@ObjectType("KvTransaction", {
  description: "The outcome of a transaction on key-value streams.",
  implements: NodeType,
  simpleResolvers: true,
})
export class KvTransactionType {
  @Field(() => BigIntScalar, { description: "The sequence number: the version of the keys that it wrote." })
  txSeq!: bigint;

  @Field(() => String, {
    nullable: true,
    description:
      "`Commit`, or the reason for the refusal as the network's nodes word it. Null if this service does not hold the transaction's streams.",
  })
  result!: string | null;

  @Field(() => Boolean, {
    name: "committed",
    simple: false,
    description:
      "Whether the transaction took effect. False if this service does not hold the transaction's streams.",
  })
  isCommitted!: boolean;

  @Field(() => DateTimeScalar, { description: "When this service decided the outcome." })
  decidedAt!: Date;
}

/** An account's permissions. */
@ObjectType("KvRights", {
  description: "An account's permissions on a stream and a key.",
  simpleResolvers: true,
})
export class KvRightsType {
  @Field(() => Boolean, { description: "Whether the account has the admin role." })
  isAdmin!: boolean;

  @Field(() => Boolean, {
    description: "Whether the account has the writer role: it may write to keys that are not special.",
  })
  isWriterOfStream!: boolean;

  @Field(() => Boolean, { description: "Whether the key is special: it has its own list of writers." })
  isSpecialKey!: boolean;

  @Field(() => Boolean, { description: "Whether the account is in the special key's list of writers." })
  isWriterOfKey!: boolean;

  @Field(() => Boolean, {
    description: "Whether the account may write to the key, or to any if none is given.",
  })
  hasWritePermission!: boolean;
}

/** The filter of a stream's keys. */
@ArgsType()
export class KvEntriesArgs extends PageArgs {
  @Field(() => HexScalar, {
    nullable: true,
    description:
      "Return only keys that start with these bytes. Cannot be combined with `prefixText`. Default: all keys.",
  })
  prefix!: Hex | null | undefined;

  @Field(() => String, {
    nullable: true,
    description: "Return only keys that start with this text. Cannot be combined with `prefix`.",
  })
  prefixText!: string | null | undefined;

  @Field(() => BigIntScalar, { nullable: true, description: "Read as of this version. Default: the latest." })
  version!: string | null | undefined;

  @Field(() => Boolean, {
    defaultValue: false,
    description: "Whether to list from the last key to the first.",
  })
  reverse!: boolean;
}

/** A key, by its bytes or as text. */
@ArgsType()
export class KvKeyArgs {
  @Field(() => HexScalar, { nullable: true, description: "The key's bytes. Give this or `keyText`." })
  key!: Hex | null | undefined;

  @Field(() => String, { nullable: true, description: "The key as UTF-8 text. Give this or `key`." })
  keyText!: string | null | undefined;

  @Field(() => BigIntScalar, { nullable: true, description: "Read as of this version. Default: the latest." })
  version!: string | null | undefined;
}

/** A key of a stream. */
@ArgsType()
export class KvValueArgs extends KvKeyArgs {
  @Field(() => Hash32Scalar, { description: "The id of the stream." })
  streamId!: Hex;
}

/** The global id of a stream. */
export const KvStreamNodeResolvers = defineNodeResolvers<KvStreamType>(() => KvStreamType, {
  name: "KvStream",
  keyOf: ({ streamId }) => streamId,
});

/** The global id of a transaction. */
export const KvTransactionNodeResolvers = defineNodeResolvers<KvTransactionType>(() => KvTransactionType, {
  name: "KvTransaction",
  keyOf: ({ txSeq }) => txSeq.toString(),
});

/** A list of streams. */
export const KvStreamConnection = defineConnection("KvStream", () => KvStreamType);
/** A list of keys. */
export const KvEntryConnection = defineConnection("KvEntry", () => KvEntryType);
