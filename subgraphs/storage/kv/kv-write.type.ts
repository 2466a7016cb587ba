import "../../shared/schema/reflect.ts";
import { Field, InputType, Int, ObjectType } from "type-graphql";
import type { Hex } from "../../../src/kernel/text/hex.ts";
import type { ControlOp } from "../../../src/storage/kv/stream-data.ts";
import { defineEnum } from "../../shared/schema/enumeration.ts";
import { AddressScalar, BigIntScalar, Hash32Scalar, HexScalar } from "../../shared/schema/scalars.ts";
import { SegmentProofType } from "../files/file.type.ts";
import { PreparedUploadType } from "../uploads/upload.type.ts";

/** A change of a stream's write permissions. */
const KvControlOp = defineEnum<ControlOp>("KvControlOp", "A change of a stream's write permissions.", {
  GRANT_ADMIN_ROLE: "Grants an account the admin role. Requires the admin role.",
  RENOUNCE_ADMIN_ROLE: "Renounces the sender's admin role.",
  SET_KEY_TO_SPECIAL: "Makes a key special: it has its own list of writers. Requires the admin role.",
  SET_KEY_TO_NORMAL: "Makes a special key normal again. Requires the admin role.",
  GRANT_WRITER_ROLE: "Grants an account the writer role. Requires the admin or writer role.",
  REVOKE_WRITER_ROLE: "Revokes an account's writer role. Requires the admin role.",
  RENOUNCE_WRITER_ROLE: "Renounces the sender's writer role.",
  GRANT_SPECIAL_WRITER_ROLE:
    "Grants an account the writer role of a special key. Requires the admin role or the key's writer role.",
  REVOKE_SPECIAL_WRITER_ROLE: "Revokes an account's writer role of a special key. Requires the admin role.",
  RENOUNCE_SPECIAL_WRITER_ROLE: "Renounces the sender's writer role of a special key.",
});

/** A key of a stream. */
@InputType("KvKeyInput", { description: "A key of a stream." })
export class KvKeyInput {
  @Field(() => Hash32Scalar, { description: "The id of the stream." })
  streamId!: Hex;

  @Field(() => HexScalar, { nullable: true, description: "The key's bytes. Give this or `keyText`." })
  key?: Hex | null;

  @Field(() => String, { nullable: true, description: "The key as UTF-8 text. Give this or `key`." })
  keyText?: string | null;
}

/** A key and its value. */
@InputType("KvEntryInput", { description: "A key of a stream, and the value to write to it." })
export class KvEntryInput extends KvKeyInput {
  @Field(() => String, { nullable: true, description: "The value in base64. Give this or `text`." })
  base64?: string | null;

  @Field(() => String, { nullable: true, description: "The value as UTF-8 text. Give this or `base64`." })
  text?: string | null;
}

/** A change of write permissions. */
@InputType("KvControlInput", { description: "A change of a stream's write permissions." })
export class KvControlInput {
  @Field(() => KvControlOp, { description: "The change to make." })
  op!: ControlOp;

  @Field(() => Hash32Scalar, { description: "The id of the stream." })
  streamId!: Hex;

  @Field(() => HexScalar, { nullable: true, description: "The key's bytes, for changes that concern a key." })
  key?: Hex | null;

  @Field(() => String, { nullable: true, description: "The key as UTF-8 text. Give this or `key`." })
  keyText?: string | null;

  @Field(() => AddressScalar, {
    nullable: true,
    description: "The account, for changes that concern an account.",
  })
  account?: Hex | null;
}

/** A transaction on streams. */
@InputType("PrepareKvWriteInput", {
  description: "A transaction on key-value streams. It takes effect as a whole or not at all.",
})
export class PrepareKvWriteInput {
  @Field(() => AddressScalar, {
    description: "The account that will send the transaction; it must have write access.",
  })
  from!: Hex;

  @Field(() => BigIntScalar, {
    nullable: true,
    description:
      "The newest version that the client has seen. A key in this transaction that was written after that version " +
      "is a conflict. Default: no conflict check.",
  })
  version?: string | null;

  @Field(() => [KvKeyInput], {
    nullable: true,
    description: "The keys that must not have changed since `version`.",
  })
  reads?: readonly KvKeyInput[] | null;

  @Field(() => [KvEntryInput], { nullable: true, description: "The keys to write." })
  writes?: readonly KvEntryInput[] | null;

  @Field(() => [KvKeyInput], { nullable: true, description: "The keys to delete." })
  deletes?: readonly KvKeyInput[] | null;

  @Field(() => [KvControlInput], { nullable: true, description: "The changes of write permissions." })
  controls?: readonly KvControlInput[] | null;

  @Field(() => HexScalar, {
    nullable: true,
    description: "The recipient's secp256k1 public key. The whole transaction is encrypted for it.",
  })
  recipientPublicKey?: Hex | null;
}

/** A segment to upload. */
@ObjectType("PreparedSegment", {
  description: "A segment in the shape that `uploadSegment` accepts.",
  simpleResolvers: true,
})
export class PreparedSegmentType {
  @Field(() => Int, { description: "0-based index of the segment." })
  index!: number;

  @Field(() => String, { description: "The segment's bytes in base64." })
  data!: string;

  @Field(() => SegmentProofType, { description: "The segment's merkle proof." })
  proof!: SegmentProofType;
}

/** A prepared write. The rest of its fields are resolved. */
@ObjectType("PreparedKvWrite", {
  description:
    "A prepared write: sign and send the transaction of `upload`, then upload the segments when it is mined.",
  simpleResolvers: true,
})
export class PreparedKvWriteType {
  @Field(() => HexScalar, { description: "The tags of the submission." })
  tags!: Hex;

  @Field(() => [Hash32Scalar], { description: "The ids of the streams that the transaction writes to." })
  streamIds!: readonly Hex[];

  @Field(() => PreparedUploadType, {
    description: "The submission of the file that contains the transaction.",
  })
  upload!: PreparedUploadType;

  content!: Buffer;
}
