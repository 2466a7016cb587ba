import "../../shared/schema/reflect.ts";
import { Field, ID, InputType, Int, ObjectType } from "type-graphql";
import { AddressScalar } from "../../shared/schema/scalars.ts";
import { PayloadType } from "../../shared/user-errors.ts";
import { LedgerCheckType } from "./operations.type.ts";

/** A provider to send requests to again. */
@InputType("CloseProviderCircuitsInput", { description: "A provider to send requests to again." })
export class CloseProviderCircuitsInput {
  @Field(() => AddressScalar, { description: "The address of the provider." })
  providerAddress!: string;
}

/** The provider whose circuits are closed. */
@ObjectType("CloseProviderCircuitsPayload", {
  description: "The result of `closeProviderCircuits`. Its other fields are null if there are `userErrors`.",
  simpleResolvers: true,
})
export class CloseProviderCircuitsPayload extends PayloadType {
  @Field(() => AddressScalar, { nullable: true, description: "The address of the provider." })
  providerAddress?: string | null;
}

/** A provider to send no requests to. */
@InputType("PauseProviderInput", { description: "A provider to send no requests to for a while." })
export class PauseProviderInput {
  @Field(() => AddressScalar, { description: "The address of the provider." })
  providerAddress!: string;

  @Field(() => Int, { description: "The duration of the pause: 10 to 86,400 seconds." })
  seconds!: number;
}

/** The provider that is paused. */
@ObjectType("PauseProviderPayload", {
  description: "The result of `pauseProvider`. Its other fields are null if there are `userErrors`.",
  simpleResolvers: true,
})
export class PauseProviderPayload extends PayloadType {
  @Field(() => AddressScalar, { nullable: true, description: "The address of the provider." })
  providerAddress?: string | null;
}

/** A webhook to enable. */
@InputType("EnableFaultyWebhookInput", {
  description: "A webhook of any account that was disabled because of its receiver.",
})
export class EnableFaultyWebhookInput {
  @Field(() => ID, { description: "The webhook's id." })
  id!: string;
}

/** Whether the webhook is enabled. */
@ObjectType("EnableFaultyWebhookPayload", {
  description: "The result of `enableFaultyWebhook`. Its other fields are null if there are `userErrors`.",
  simpleResolvers: true,
})
export class EnableFaultyWebhookPayload extends PayloadType {
  @Field(() => Boolean, { nullable: true, description: "Whether the webhook is enabled." })
  enabled?: boolean | null;
}

/** The result of the check. */
@ObjectType("VerifyLedgerPayload", {
  description: "The result of `verifyLedger`. Its other fields are null if there are `userErrors`.",
  simpleResolvers: true,
})
export class VerifyLedgerPayload extends PayloadType {
  @Field(() => LedgerCheckType, { nullable: true, description: "What the check found." })
  check?: LedgerCheckType | null;
}

/** What was released. */
@ObjectType("ReleaseExpiredHoldsPayload", {
  description: "The result of `releaseExpiredHolds`. Its other fields are null if there are `userErrors`.",
  simpleResolvers: true,
})
export class ReleaseExpiredHoldsPayload extends PayloadType {
  @Field(() => Int, { nullable: true, description: "The number of holds and allotments released." })
  releasedCount?: number | null;
}
