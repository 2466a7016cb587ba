import "../../shared/schema/reflect.ts";
import { Arg, Ctx, Field, Mutation, ObjectType, Query, Resolver } from "type-graphql";
import { decodeBase64 } from "../../../src/kernel/text/base64.ts";
import type { PutOutcome } from "../../../src/storage/node/storage-node.ts";
import type { SubmittedFile } from "../../../src/storage/submissions/submissions.service.ts";
import type { PreparedUpload } from "../../../src/storage/uploads/uploads.service.ts";
import type { Context } from "../../shared/context.ts";
import { answerMutation, PayloadType } from "../../shared/user-errors.ts";
import { FileType } from "../files/file.type.ts";
import { PreparedUploadType, PrepareUploadInput, SegmentOutcome, UploadSegmentInput } from "./upload.type.ts";

/** The result of uploading a segment. */
@ObjectType("UploadSegmentPayload", {
  description: "The result of `uploadSegment`. Its other fields are null if there are `userErrors`.",
  simpleResolvers: true,
})
class UploadSegmentPayload extends PayloadType {
  @Field(() => SegmentOutcome, { nullable: true, description: "The outcome of the upload." })
  outcome?: PutOutcome["kind"] | null;

  @Field(() => FileType, { nullable: true, description: "The file in its current state." })
  file?: SubmittedFile | null;
}

/** Uploads of files. */
@Resolver()
export class UploadResolver {
  @Query(() => PreparedUploadType, {
    nullable: true,
    description:
      "Estimates the cost of storing a file and prepares its transaction. A file that is already submitted on " +
      "chain costs nothing.",
  })
  async prepareUpload(
    @Arg("input", () => PrepareUploadInput, { description: "The file to store." })
    { content, sizeBytes, root, nodes, tags, from, abi, again }: PrepareUploadInput,
    @Ctx() { services }: Context,
  ): Promise<PreparedUploadType> {
    const upload = await services.uploads.prepare({
      content: content == null ? undefined : decodeBase64(content, "content"),
      sizeBytes: sizeBytes == null ? undefined : Number(sizeBytes),
      root: root ?? undefined,
      nodes: nodes ?? undefined,
      tags: tags ?? undefined,
      abi: abi ?? undefined,
      ...{ from, again },
    });
    return toPreparedUpload(upload);
  }

  @Mutation(() => UploadSegmentPayload, {
    nullable: true,
    description:
      "Uploads a segment of a submitted file. The segment is verified against the file's root. Idempotent.",
  })
  async uploadSegment(
    @Arg("input", () => UploadSegmentInput, { description: "The segment." })
    input: UploadSegmentInput,
    @Ctx() { services, loaders }: Context,
  ): Promise<UploadSegmentPayload> {
    const { root, txSeq, index, data, proof } = input;
    return answerMutation(input, async () => {
      const { kind, file } = await services.uploads.put({
        root: root ?? undefined,
        txSeq: txSeq == null ? undefined : BigInt(txSeq),
        index,
        data: decodeBase64(data, "data"),
        proof,
      });
      return { outcome: kind, file: (await loaders.files.load(file.root)) ?? null };
    });
  }
}

/** Maps a prepared upload to its GraphQL type. */
export function toPreparedUpload(upload: PreparedUpload): PreparedUploadType {
  const { root, sizeBytes, segments, sectors, nodes, file, fee, transaction, proofs } = upload;
  return {
    ...{ root, nodes, fee },
    segmentCount: segments,
    sectorCount: sectors,
    sizeBytes: BigInt(sizeBytes),
    alreadySubmitted: file?.txSeq !== undefined,
    alreadyFinalized: file?.finalized ?? false,
    transaction: transaction ?? null,
    proofs: proofs ?? null,
  };
}
