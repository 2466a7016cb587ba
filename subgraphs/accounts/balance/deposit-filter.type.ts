import "../../shared/schema/reflect.ts";
import { ArgsType, Field, InputType } from "type-graphql";
import type { Deposit, DepositFilter } from "../../../src/accounts/deposits.service.ts";
import { lowerHex } from "../../../src/kernel/text/hex.ts";
import { PageArgs } from "../../shared/schema/connection.ts";
import { AmountRangeInput, TimeRangeInput, toBounds, toTimes } from "../../shared/schema/range.type.ts";
import { Hash32Scalar } from "../../shared/schema/scalars.ts";
import { DepositStatus } from "./deposit.type.ts";

/** The filter of a list of deposits. */
@InputType("DepositFilterInput", {
  description: "Lists only deposits that meet every given condition.",
})
class DepositFilterInput {
  @Field(() => [DepositStatus], { nullable: true, description: "Deposits with one of these statuses." })
  statuses!: Deposit["status"][] | null | undefined;

  @Field(() => AmountRangeInput, { nullable: true, description: "Deposits with an amount in this range." })
  amount!: AmountRangeInput | null | undefined;

  @Field(() => TimeRangeInput, {
    nullable: true,
    description: "Deposits that this service first saw in this range of times.",
  })
  seenAt!: TimeRangeInput | null | undefined;

  @Field(() => Hash32Scalar, { nullable: true, description: "Deposits of this transaction." })
  transactionHash!: `0x${string}` | null | undefined;
}

/** The arguments of a list of deposits. */
@ArgsType()
export class DepositsArgs extends PageArgs {
  @Field(() => DepositFilterInput, { nullable: true, description: "Which deposits to list. Default: all." })
  filter!: DepositFilterInput | null | undefined;
}

/** Maps the filter of a client. Throws `invalid_parameter` for a reversed range. */
export function toDepositFilter(filter: DepositFilterInput | null | undefined): DepositFilter {
  if (!filter) return {};
  const amounts = toBounds(filter.amount, "filter.amount");
  return {
    statuses: filter.statuses ?? undefined,
    minAmount: amounts.min,
    maxAmount: amounts.max,
    ...toTimes(filter.seenAt, "filter.seenAt"),
    transactionHash: filter.transactionHash == null ? undefined : lowerHex(filter.transactionHash),
  };
}
