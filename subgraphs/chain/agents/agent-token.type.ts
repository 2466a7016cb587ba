import "../../shared/schema/reflect.ts";
import { Directive, Field, ID, Int, ObjectType } from "type-graphql";
import type { AgentTokensService } from "../../../src/chain/agents/agent-tokens.service.ts";
import { defineConnection } from "../../shared/schema/connection.ts";
import { defineEnum } from "../../shared/schema/enumeration.ts";
import { AddressScalar, BigIntScalar, DateTimeScalar, Hash32Scalar } from "../../shared/schema/scalars.ts";

type Service = AgentTokensService;
type RowOf<List extends "list" | "transfers" | "authorizations" | "clones"> = Awaited<
  ReturnType<Service[List]>
>["rows"][number];

/** A token, its moves, its authorisations and its clones as the service gives them. */
export type AgentToken = RowOf<"list">;
export type TokenTransfer = RowOf<"transfers">;
export type Authorization = RowOf<"authorizations">;
export type TokenClone = RowOf<"clones">;
export type Delegation = Awaited<ReturnType<Service["delegationsOf"]>>[number][number];
export type AgentContract = ReturnType<Service["contracts"]>[number];

const AgentGeneration = defineEnum<AgentContract["generation"]>(
  "AgentGeneration",
  "The generations of agent tokens (ERC-7857).",
  {
    "agent-nft": "AgentNFT, whose keys are in `PublishedSealedKey`.",
    "agentic-id": "AgenticID, its successor, whose keys are in `ITransferred`.",
  },
);
const AuthorizationEnd = defineEnum<NonNullable<Authorization["endReason"]>>(
  "AuthorizationEnd",
  "Why an authorisation to use a token ended.",
  {
    revoked: "It was revoked.",
    cleared: "The owner cleared the whole list.",
    transferred: "The token moved, which clears the list without saying so.",
  },
);

/** A contract of agent tokens. The rest of its fields are resolved. */
@ObjectType("AgentContract", {
  description: "A contract of agent tokens that is read here.",
  simpleResolvers: true,
})
export class AgentContractType {
  @Field(() => AddressScalar, { description: "Where it is." })
  address!: string;

  @Field(() => AgentGeneration, { description: "Of which generation it is." })
  generation!: AgentContract["generation"];

  @Field(() => BigIntScalar, {
    nullable: true,
    description: "The block from which it is read, null for the network's first.",
  })
  startBlock!: bigint | undefined;
}

/** A piece of a token's data. The rest of its fields are resolved. */
@ObjectType("IntelligentData", {
  description: "A piece of a token's data: encrypted, and stored elsewhere.",
  simpleResolvers: true,
})
export class IntelligentDataType {
  @Field(() => Int, { description: "Its place among the token's data: keys and proofs come in this order." })
  index!: number;

  @Field(() => String, { description: "What it is, as the owner says; cut after 4,096 characters." })
  description!: string;

  @Field(() => Hash32Scalar, { description: "The hash of its ciphertext." })
  dataHash!: string;
}

/** A token. The rest of its fields are resolved. */
@Directive('@key(fields: "contract tokenId")')
@ObjectType("AgentToken", {
  description: "An agent token (ERC-7857), as far as the chain was read.",
  simpleResolvers: true,
})
export class AgentTokenType {
  @Field(() => ID, { description: "Its contract and token id." })
  id!: string;

  @Field(() => AddressScalar, { description: "Its contract." })
  contract!: string;

  @Field(() => BigIntScalar, { description: "Its id within the contract." })
  tokenId!: bigint;

  @Field(() => AgentGeneration, { description: "The generation of its contract." })
  generation!: AgentContract["generation"];

  @Field(() => Boolean, {
    description:
      "Whether it last moved without a sealed key, so that the owner cannot decrypt its data; false again once the owner set the data anew.",
  })
  movedWithoutKey!: boolean;

  @Field(() => BigIntScalar, { description: "The block in which it last moved." })
  blockNumber!: bigint;

  @Field(() => Hash32Scalar, { description: "The transaction in which it last moved." })
  transactionHash!: string;
}

/** A move of a token. The rest of its fields are resolved. */
@ObjectType("TokenTransfer", { description: "A move of an agent token.", simpleResolvers: true })
export class TokenTransferType {
  @Field(() => Boolean, { description: "Whether keys were sealed for the receiver with it." })
  withKey!: boolean;

  @Field(() => BigIntScalar, { description: "The block of it." })
  blockNumber!: bigint;

  @Field(() => Hash32Scalar, { description: "The transaction of it." })
  transactionHash!: string;

  @Field(() => DateTimeScalar, { description: "When we first saw it." })
  seenAt!: Date;
}

/** An authorisation. The rest of its fields are resolved. */
@ObjectType("TokenAuthorization", {
  description: "That a user may, or might, use a token.",
  simpleResolvers: true,
})
export class TokenAuthorizationType {
  @Field(() => BigIntScalar, { description: "The block in which it was given." })
  blockNumber!: bigint;

  @Field(() => Hash32Scalar, { description: "The transaction in which it was given." })
  transactionHash!: string;

  @Field(() => BigIntScalar, {
    nullable: true,
    description: "The block in which it ended; null while it lasts.",
  })
  endedBlock!: bigint | null;

  @Field(() => AuthorizationEnd, { nullable: true, description: "Why it ended; null while it lasts." })
  endReason!: Authorization["endReason"];
}

/** A clone. The rest of its fields are resolved. */
@ObjectType("TokenClone", {
  description: "A token that was made of another one's data.",
  simpleResolvers: true,
})
export class TokenCloneType {
  @Field(() => BigIntScalar, { description: "The block in which it was made." })
  blockNumber!: bigint;

  @Field(() => Hash32Scalar, { description: "The transaction in which it was made." })
  transactionHash!: string;
}

/** A delegate of an account. Its other fields are resolved. */
@ObjectType("AccessDelegation", {
  description: "That an assistant signs access proofs for an account, for all tokens of a contract.",
  simpleResolvers: true,
})
export class AccessDelegationType {
  @Field(() => AddressScalar, { description: "The contract." })
  contract!: string;

  @Field(() => BigIntScalar, { description: "Since which block." })
  blockNumber!: bigint;
}

/** Lists of these. */
export const AgentTokenConnection = defineConnection("AgentToken", () => AgentTokenType);
export const TokenTransferConnection = defineConnection("TokenTransfer", () => TokenTransferType);
export const TokenAuthorizationConnection = defineConnection(
  "TokenAuthorization",
  () => TokenAuthorizationType,
);
export const TokenCloneConnection = defineConnection("TokenClone", () => TokenCloneType);
