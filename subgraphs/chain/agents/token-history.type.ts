import "../../shared/schema/reflect.ts";
import { Field, Int, ObjectType } from "type-graphql";
import type { AgentTokensService } from "../../../src/chain/agents/tokens/agent-tokens.service.ts";
import { defineConnection } from "../../shared/schema/connection.ts";
import { defineEnum } from "../../shared/schema/enumeration.ts";
import { BigIntScalar, DateTimeScalar, Hash32Scalar } from "../../shared/schema/scalars.ts";

/** An event as the service returns it. */
export type TokenEvent = Awaited<ReturnType<AgentTokensService["events"]>>["rows"][number];

const TokenEventKind = defineEnum<TokenEvent["kind"]>("TokenEventKind", "What happened to an agent token.", {
  minted: "The token was minted, or created as a clone of another token.",
  transferred: "The token was transferred, which ends every authorization to use it.",
  burned: "The token was burned.",
  cloned: "The token's data was cloned into a new token.",
  key_sealed: "Keys of the token's data were sealed for a receiver.",
  authorized: "An account was authorized to use the token.",
  revoked: "The authorization of an account was revoked.",
  authorizations_cleared: "The owner revoked all authorizations.",
  data_set: "The token's data was set or changed.",
});

/** An event of a token's history. The rest of its fields are resolved. */
@ObjectType("TokenHistoryEntry", {
  description: "Something that happened to an agent token: one log of its contract.",
  simpleResolvers: true,
})
export class TokenHistoryEntryType {
  @Field(() => TokenEventKind, { description: "What happened." })
  kind!: TokenEvent["kind"];

  @Field(() => BigIntScalar, {
    nullable: true,
    description: "The id of the clone, in the same contract. Null except for `CLONED`.",
  })
  newTokenId!: bigint | null;

  @Field(() => Boolean, {
    nullable: true,
    description:
      "Whether the transfer or mint came with keys sealed for the receiver. Null for other events.",
  })
  withKey!: boolean | null;

  @Field(() => Boolean, {
    description:
      "Whether a reorg reverted the event. A reverted event is listed for 25 hours after the reorg; the same log in another block is another entry.",
  })
  reverted!: boolean;

  @Field(() => BigIntScalar, { description: "The block of the event." })
  blockNumber!: bigint;

  @Field(() => Hash32Scalar, { description: "The hash of the event's block." })
  blockHash!: string;

  @Field(() => Int, { description: "0-based index of the event's log in its block." })
  logIndex!: number;

  @Field(() => Hash32Scalar, { description: "The transaction of the event." })
  transactionHash!: string;

  @Field(() => DateTimeScalar, { description: "When the event was indexed by this service." })
  seenAt!: Date;
}

/** The history of a token. */
export const TokenHistoryEntryConnection = defineConnection("TokenHistoryEntry", () => TokenHistoryEntryType);
