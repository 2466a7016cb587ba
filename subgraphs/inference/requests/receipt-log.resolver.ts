import "../../shared/schema/reflect.ts";
import { Arg, Ctx, FieldResolver, ID, Query, Resolver } from "type-graphql";
import { permit } from "../../../src/keys/auth/permissions.ts";
import type { Context } from "../../shared/context.ts";
import { readKeyOf } from "../../shared/nodes/node-id.ts";
import { BigIntScalar } from "../../shared/schema/scalars.ts";
import {
  ConsistencyProofType,
  ReceiptLogType,
  ReceiptTreeHeadType,
  ReceiptType,
  toReceipt,
} from "./receipt.type.ts";

/** The log of receipts. Public: its leaves reveal nothing. */
@Resolver(() => ReceiptLogType)
export class ReceiptLogResolver {
  @Query(() => ReceiptLogType, { nullable: true, description: "The append-only log of receipts." })
  receiptLog(@Ctx() { services }: Context): ReceiptLogType {
    const { name, keyId, verifierKey } = services.receipts.key;
    return { origin: name, keyId, publicKey: verifierKey };
  }

  @Query(() => ReceiptType, {
    nullable: true,
    description:
      "The router's signed receipt of a request. Null until it is written, some seconds after the request ended, " +
      "and if there is none. Requires the `sk-` key that sent the request, or the scope `account:read` (the requests " +
      "of every key).",
  })
  async receipt(
    @Arg("requestId", () => ID, { description: "The request's id." }) id: string,
    @Ctx() { services, principal }: Context,
  ): Promise<ReceiptType | null> {
    const reach = permit(principal, "receipt.read");
    const [found] = await services.receipts.byRequests(reach, [readKeyOf("InferenceRequest", id)]);
    return found ? toReceipt(found) : null;
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
    description: "The proof that the newest signed head continues an earlier one.",
  })
  async consistencyProof(
    @Arg("from", () => BigIntScalar, { description: "The size of the earlier head." }) from: string,
    @Ctx() { services }: Context,
  ): Promise<ConsistencyProofType> {
    const { size, hashes, checkpoint } = await services.receipts.consistency(Number(from));
    return { from: BigInt(from), size: BigInt(size), hashes, checkpoint };
  }
}
