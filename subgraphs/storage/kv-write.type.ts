import "../shared/schema/reflect.ts";
import { Field, InputType, Int, ObjectType } from "type-graphql";
import type { Hex } from "../../src/kernel/text/hex.ts";
import type { ControlOp } from "../../src/storage/kv/stream-data.ts";
import { defineEnum } from "../shared/schema/enumeration.ts";
import { AddressScalar, BigIntScalar, Hash32Scalar, HexScalar } from "../shared/schema/scalars.ts";
import { SegmentProofType } from "./file.type.ts";
import { PreparedUploadType } from "./upload.type.ts";

/** What a transaction does to who may write. */
const KvControlOp = defineEnum<ControlOp>("KvControlOp", "A change of who may write to a stream.", {
  GRANT_ADMIN_ROLE: "Makes an account an admin. For admins.",
  RENOUNCE_ADMIN_ROLE: "Ends being an admin.",
  SET_KEY_TO_SPECIAL: "Gives a key writers of its own. For admins.",
  SET_KEY_TO_NORMAL: "Takes that back. For admins.",
  GRANT_WRITER_ROLE: "Makes an account a writer. For admins and writers.",
  REVOKE_WRITER_ROLE: "Takes that back. For admins.",
  RENOUNCE_WRITER_ROLE: "Ends being a writer.",
  GRANT_SPECIAL_WRITER_ROLE: "Makes an account a writer of a special key. For admins and writers of it.",
  REVOKE_SPECIAL_WRITER_ROLE: "Takes that back. For admins.",
  RENOUNCE_SPECIAL_WRITER_ROLE: "Ends being a writer of a special key.",
});

/** A key of a stream. */
@InputType("KvKeyInput", { description: "A key of a stream." })
export class KvKeyInput {
  @Field(() => Hash32Scalar, { description: "The stream." })
  streamId!: Hex;

  @Field(() => HexScalar, { nullable: true, description: "The key's bytes; this or `keyText`." })
  key?: Hex | null;

  @Field(() => String, { nullable: true, description: "The key as text in UTF-8." })
  keyText?: string | null;
}

/** A key and its value. */
@InputType("KvEntryInput", { description: "A key of a stream, and what is written to it." })
export class KvEntryInput extends KvKeyInput {
  @Field(() => String, { nullable: true, description: "The value in base64; this or `text`." })
  base64?: string | null;

  @Field(() => String, { nullable: true, description: "The value as text in UTF-8." })
  text?: string | null;
}

/** A change of who may write. */
@InputType("KvControlInput", { description: "A change of who may write to a stream." })
export class KvControlInput {
  @Field(() => KvControlOp, { description: "What is changed." })
  op!: ControlOp;

  @Field(() => Hash32Scalar, { description: "The stream." })
  streamId!: Hex;

  @Field(() => HexScalar, { nullable: true, description: "The key's bytes, where the change is of a key." })
  key?: Hex | null;

  @Field(() => String, { nullable: true, description: "The same as text in UTF-8." })
  keyText?: string | null;

  @Field(() => AddressScalar, { nullable: true, description: "The account, where the change names one." })
  account?: Hex | null;
}

/** A transaction on streams. */
@InputType("KvWriteInput", {
  description: "A transaction on key-value streams. All of it takes effect, or nothing.",
})
export class KvWriteInput {
  @Field(() => AddressScalar, { description: "Who will send it, and must be allowed to." })
  from!: Hex;

  @Field(() => BigIntScalar, {
    nullable: true,
    description:
      "The newest version that was seen: a key read or written here that was written after it is a conflict. Without it there are none.",
  })
  version?: string | null;

  @Field(() => [KvKeyInput], { nullable: true, description: "Keys that must not have changed." })
  reads?: readonly KvKeyInput[] | null;

  @Field(() => [KvEntryInput], { nullable: true, description: "Keys that are written." })
  writes?: readonly KvEntryInput[] | null;

  @Field(() => [KvKeyInput], { nullable: true, description: "Keys that are deleted." })
  deletes?: readonly KvKeyInput[] | null;

  @Field(() => [KvControlInput], { nullable: true, description: "Changes of who may write." })
  controls?: readonly KvControlInput[] | null;

  @Field(() => HexScalar, {
    nullable: true,
    description: "A public key of secp256k1 for whose holder it is encrypted, as a whole.",
  })
  recipientPublicKey?: Hex | null;
}

/** A segment that is to be uploaded. */
@ObjectType("PreparedSegment", {
  description: "A segment as `uploadSegment` takes it.",
  simpleResolvers: true,
})
export class PreparedSegmentType {
  @Field(() => Int, { description: "Which segment, from 0." })
  index!: number;

  @Field(() => String, { description: "Its bytes in base64." })
  data!: string;

  @Field(() => SegmentProofType, { description: "What proves it." })
  proof!: SegmentProofType;
}

/** What writing takes. The rest of its fields are resolved. */
@ObjectType("PreparedKvWrite", {
  description:
    "What writing takes: the transaction of `upload` is signed and sent, and when it is mined the segments are uploaded.",
  simpleResolvers: true,
})
export class PreparedKvWriteType {
  @Field(() => HexScalar, { description: "The tags of its submission." })
  tags!: Hex;

  @Field(() => [Hash32Scalar], { description: "The streams that it writes." })
  streamIds!: readonly Hex[];

  @Field(() => PreparedUploadType, { description: "Its submission." })
  upload!: PreparedUploadType;

  content!: Buffer;
}
