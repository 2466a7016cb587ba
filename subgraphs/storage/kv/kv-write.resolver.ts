import "../../shared/schema/reflect.ts";
import { Arg, Ctx, FieldResolver, Query, Resolver, Root } from "type-graphql";
import { AppError } from "../../../src/kernel/errors.ts";
import { decodeBase64 } from "../../../src/kernel/text/base64.ts";
import { segmentsOf } from "../../../src/storage/kv/kv-writes.service.ts";
import type { StreamControl, StreamWrite } from "../../../src/storage/kv/stream-data.ts";
import type { Context } from "../../shared/context.ts";
import { toPreparedUpload } from "../uploads/upload.resolver.ts";
import { readKey, toUtf8 } from "./kv-key.ts";
import {
  type KvControlInput,
  type KvEntryInput,
  PreparedKvWriteType,
  PreparedSegmentType,
  PrepareKvWriteInput,
} from "./kv-write.type.ts";

/** Prepares writes to key-value streams. */
@Resolver(() => PreparedKvWriteType)
export class KvWriteResolver {
  @Query(() => PreparedKvWriteType, {
    nullable: true,
    description:
      "Builds a transaction on key-value streams, to be signed and sent by an account with write access.",
  })
  async prepareKvWrite(
    @Arg("input", () => PrepareKvWriteInput, { description: "The operations of the transaction." })
    { from, version, reads, writes, deletes, controls, recipientPublicKey }: PrepareKvWriteInput,
    @Ctx() { services }: Context,
  ): Promise<PreparedKvWriteType> {
    const deleted = (deletes ?? []).map(({ streamId, ...key }, n) => ({
      ...{ streamId, key: readKey(key, `deletes.${n}`) },
      value: Buffer.alloc(0),
    }));
    const prepared = await services.kvWrites.prepare({
      from,
      version: version == null ? undefined : BigInt(version),
      reads: (reads ?? []).map(({ streamId, ...key }, n) => ({ streamId, key: readKey(key, `reads.${n}`) })),
      writes: [...(writes ?? []).map(toWrite), ...deleted],
      controls: (controls ?? []).map(toControl),
      ...(recipientPublicKey != null && {
        recipient: { publicKey: Buffer.from(recipientPublicKey.slice(2), "hex") },
      }),
    });
    const { tags, streamIds, content } = prepared;
    return { tags, streamIds, content, upload: toPreparedUpload(prepared) };
  }

  @FieldResolver(() => String, { description: "The file that contains the transaction, in base64." })
  content(@Root() { content }: PreparedKvWriteType): string {
    return content.toString("base64");
  }

  @FieldResolver(() => [PreparedSegmentType], {
    description: "The file in segments, in the shape that `uploadSegment` accepts.",
  })
  segments(@Root() { content, upload }: PreparedKvWriteType): readonly PreparedSegmentType[] {
    return segmentsOf(content).map((data, index) => ({
      ...{ index, data: data.toString("base64") },
      proof: upload.proofs?.[index] ?? { lemma: [], path: [] },
    }));
  }
}

function toWrite({ streamId, base64, text, ...key }: KvEntryInput, n: number): StreamWrite {
  const place = `writes.${n}`;
  if ((base64 == null) === (text == null))
    throw new AppError("invalid_parameter", "Give the value in base64 or as text: exactly one of the two.", {
      param: place,
    });
  const value =
    base64 == null ? toUtf8(text ?? "", `${place}.text`) : decodeBase64(base64, `${place}.base64`);
  if (value.length > 0) return { streamId, key: readKey(key, place), value };
  throw new AppError(
    "invalid_parameter",
    "An empty value would delete the key: put the key into `deletes` instead.",
    {
      param: `${place}.${base64 == null ? "text" : "base64"}`,
    },
  );
}

function toControl({ op, streamId, account, key, keyText }: KvControlInput, n: number): StreamControl {
  const named = key != null || keyText != null;
  return {
    ...{ op, streamId },
    ...(named && { key: readKey({ key, keyText }, `controls.${n}`) }),
    ...(account != null && { account }),
  };
}
