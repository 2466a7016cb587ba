import "../../shared/schema/reflect.ts";
import { Arg, Args, Ctx, FieldResolver, ID, Int, Mutation, Query, Resolver, Root } from "type-graphql";
import { shownFileId } from "../../../src/client-files/file-id.ts";
import { BATCH_JOB, type Batch } from "../../../src/inference/batches/batch.ts";
import { readBatchId } from "../../../src/inference/batches/batch-id.ts";
import { jobCursor } from "../../../src/jobs/jobs.service.ts";
import { permit } from "../../../src/keys/auth/permissions.ts";
import type { Context } from "../../shared/context.ts";
import { NODE_FINDERS } from "../../shared/nodes/find-node.ts";
import { readKeyOf } from "../../shared/nodes/node-id.ts";
import { type Connection, PageArgs, toConnection, toPageRequest } from "../../shared/schema/connection.ts";
import { answerMutation } from "../../shared/user-errors.ts";
import { BatchConnection, BatchType, CancelBatchInput, CancelBatchPayload } from "./batch.type.ts";

const ACCESS =
  "Requires an `sk-` key (the batches it created) or the scope `account:read` (the batches of every key).";

/** The caller's batches. */
@Resolver(() => BatchType)
export class BatchResolver {
  @Query(() => BatchType, {
    nullable: true,
    description: `One of the caller's batches. Null if there is none with this id. ${ACCESS}`,
  })
  batch(
    @Arg("id", () => ID, { description: "The batch's id." }) id: string,
    @Ctx() context: Context,
  ): Promise<Batch | undefined> {
    return NODE_FINDERS.Batch(readKeyOf("Batch", id), context);
  }

  @Query(() => BatchConnection, {
    nullable: true,
    description: `The caller's batches, newest first. ${ACCESS}`,
  })
  async batches(
    @Args(() => PageArgs) args: PageArgs,
    @Ctx() { services, principal }: Context,
  ): Promise<Connection<Batch>> {
    const reach = permit(principal, "job.read");
    const page = await services.batches.list(reach, toPageRequest(args));
    return toConnection(
      page,
      ({ job }) => jobCursor(BATCH_JOB, job),
      () => services.batches.count(reach),
    );
  }

  @Mutation(() => CancelBatchPayload, {
    nullable: true,
    description:
      "Cancels a batch. Requests that were already sent are answered and charged; the others are not sent. Requires the " +
      "`sk-` key that created the batch, or a wallet session.",
  })
  async cancelBatch(
    @Arg("input", () => CancelBatchInput, { description: "The batch to cancel." }) input: CancelBatchInput,
    @Ctx() { services, principal }: Context,
  ): Promise<CancelBatchPayload> {
    const reach = permit(principal, "job.cancel");
    return answerMutation(input, async () => ({
      batch: await services.batches.cancel(reach, readBatchId(readKeyOf("Batch", input.id))),
    }));
  }

  @FieldResolver(() => Int, {
    description: "The number of requests in the batch. 0 until the input file is checked.",
  })
  requestCount(@Root() { lines }: Batch): number {
    return lines;
  }

  @FieldResolver(() => Int, { description: "The number of requests that were answered, and charged." })
  completedCount(@Root() { completed }: Batch): number {
    return completed;
  }

  @FieldResolver(() => Int, {
    description: "The number of requests that failed or were not sent, and were not charged.",
  })
  failedCount(@Root() { failed }: Batch): number {
    return failed;
  }

  @FieldResolver(() => String, { description: "The REST id of the file with the requests." })
  inputFileId(@Root() batch: Batch): string {
    return shownFileId(batch.inputFileId);
  }

  @FieldResolver(() => String, {
    nullable: true,
    description:
      "The REST id of the file with the answers. Null until the batch has ended, or if there are none.",
  })
  outputFileId(@Root() { outputFileId }: Batch): string | null {
    return outputFileId && shownFileId(outputFileId);
  }

  @FieldResolver(() => String, {
    nullable: true,
    description:
      "The REST id of the file with the requests that failed or were not sent. Null until the batch has ended, or if there are none.",
  })
  errorFileId(@Root() { errorFileId }: Batch): string | null {
    return errorFileId && shownFileId(errorFileId);
  }
}
