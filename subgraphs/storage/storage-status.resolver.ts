import "../shared/schema/reflect.ts";
import { Ctx, Field, ObjectType, Query, Resolver } from "type-graphql";
import type { StorageStatus } from "../../src/storage/submissions/submissions.service.ts";
import type { Context } from "../shared/context.ts";
import { BigIntScalar, Hash32Scalar } from "../shared/schema/scalars.ts";

/** How far the storage network has been followed. */
@ObjectType("StorageStatus", {
  description: "How far this router has read the submissions of files from the chain.",
  simpleResolvers: true,
})
export class StorageStatusType {
  @Field(() => BigIntScalar, {
    description: "The newest block whose submissions were read. 0 before the first block is read.",
  })
  blockNumber!: bigint;

  @Field(() => Hash32Scalar, {
    description: "The hash of that block. All zeros before the first block is read.",
  })
  blockHash!: string;

  @Field(() => BigIntScalar, {
    description: "The number of submissions so far, which is also the sequence number of the next one.",
  })
  nextTxSeq!: bigint;
}

/** The state of the storage network. */
@Resolver()
export class StorageStatusResolver {
  @Query(() => StorageStatusType, {
    nullable: true,
    description: "How far this router has read the submissions of files from the chain.",
  })
  async storageStatus(@Ctx() { services }: Context): Promise<StorageStatusType> {
    return toStatus(await services.submissions.status());
  }
}

function toStatus({ logSyncHeight, logSyncBlock, nextTxSeq }: StorageStatus): StorageStatusType {
  return { blockNumber: logSyncHeight, blockHash: logSyncBlock, nextTxSeq };
}
