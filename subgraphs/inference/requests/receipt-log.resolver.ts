import "../../shared/schema/reflect.ts";
import { Arg, Ctx, FieldResolver, Query, Resolver } from "type-graphql";
import type { Context } from "../../shared/context.ts";
import { BigIntScalar } from "../../shared/schema/scalars.ts";
import { ConsistencyProofType, ReceiptLogType, ReceiptTreeHeadType } from "./receipt.type.ts";

/** The log of receipts. Public: its leaves reveal nothing. */
@Resolver(() => ReceiptLogType)
export class ReceiptLogResolver {
  @Query(() => ReceiptLogType, { nullable: true, description: "The append-only log of receipts." })
  receiptLog(@Ctx() { services }: Context): ReceiptLogType {
    const { name, verifierKey } = services.receipts.key;
    return { origin: name, publicKey: verifierKey };
  }

  @FieldResolver(() => ReceiptTreeHeadType, {
    nullable: true,
    description: "The newest signed head. Null before the first receipt.",
  })
  async treeHead(@Ctx() { services }: Context): Promise<ReceiptTreeHeadType | null> {
    const head = await services.receipts.head();
    return head ? { size: BigInt(head.size), checkpoint: head.note } : null;
  }

  @FieldResolver(() => ConsistencyProofType, {
    nullable: true,
    description: "What proves that the newest signed head continues an earlier one.",
  })
  async consistencyProof(
    @Arg("from", () => BigIntScalar, { description: "The size of the earlier head." }) from: bigint,
    @Ctx() { services }: Context,
  ): Promise<ConsistencyProofType> {
    const { size, hashes, checkpoint } = await services.receipts.consistency(Number(from));
    return { from, size: BigInt(size), hashes, checkpoint };
  }
}
