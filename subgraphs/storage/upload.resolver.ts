import "../shared/schema/reflect.ts";
import { Arg, Ctx, Field, Mutation, ObjectType, Resolver } from "type-graphql";
import { decodeBase64 } from "../../src/kernel/text/base64.ts";
import type { PutOutcome } from "../../src/storage/node/storage-node.ts";
import type { SubmittedFile } from "../../src/storage/submissions.service.ts";
import type { PreparedUpload } from "../../src/storage/uploads.service.ts";
import type { Context } from "../shared/context.ts";
import { FileType } from "./file.type.ts";
import { PreparedUploadType, PrepareUploadInput, SegmentInput, SegmentOutcome } from "./upload.type.ts";

/** What became of a segment, and its file. */
@ObjectType("UploadedSegment", {
  description: "What became of an uploaded segment.",
  simpleResolvers: true,
})
class UploadedSegmentType {
  @Field(() => SegmentOutcome, { description: "What became of it." })
  outcome!: PutOutcome["kind"];

  @Field(() => FileType, { nullable: true, description: "Its file as it stands now." })
  file!: SubmittedFile | null;
}

/** Storing files. */
@Resolver()
export class UploadResolver {
  @Mutation(() => PreparedUploadType, {
    nullable: true,
    description:
      "Estimates what storing a file takes, and prepares the transaction. For a file that the chain already has, there is nothing to pay.",
  })
  async prepareUpload(
    @Arg("input", () => PrepareUploadInput, { description: "What is to be stored." })
    { content, size, root, nodes, tags, from, abi, again }: PrepareUploadInput,
    @Ctx() { services }: Context,
  ): Promise<PreparedUploadType> {
    const upload = await services.uploads.prepare({
      content: content == null ? undefined : decodeBase64(content, "content"),
      sizeBytes: size == null ? undefined : Number(size),
      root: root ?? undefined,
      nodes: nodes ?? undefined,
      tags: tags ?? undefined,
      abi: abi ?? undefined,
      ...{ from, again },
    });
    return toPreparedUpload(upload);
  }

  @Mutation(() => UploadedSegmentType, {
    nullable: true,
    description:
      "Takes a segment of a file that was submitted, verified against the file's root. Sent again, it changes nothing.",
  })
  async uploadSegment(
    @Arg("input", () => SegmentInput, { description: "The segment." })
    { root, txSeq, index, data, proof }: SegmentInput,
    @Ctx() { services, loaders }: Context,
  ): Promise<UploadedSegmentType> {
    const { kind, file } = await services.uploads.put({
      root: root ?? undefined,
      txSeq: txSeq == null ? undefined : BigInt(txSeq),
      index,
      data: decodeBase64(data, "data"),
      proof,
    });
    return { outcome: kind, file: (await loaders.files.load(file.root)) ?? null };
  }
}

/** What an upload takes, as the graph tells of it. */
export function toPreparedUpload(upload: PreparedUpload): PreparedUploadType {
  const { root, sizeBytes, segments, sectors, nodes, file, fee, transaction, proofs } = upload;
  return {
    ...{ root, segments, sectors, nodes, fee },
    size: BigInt(sizeBytes),
    alreadySubmitted: file?.txSeq !== undefined,
    alreadyFinalized: file?.finalized ?? false,
    transaction: transaction ?? null,
    proofs: proofs ?? null,
  };
}
