import "../../shared/schema/reflect.ts";
import { Directive, Field, Int, ObjectType } from "type-graphql";
import type { AgentTokensService } from "../../../src/chain/agents/tokens/agent-tokens.service.ts";
import { defineNodeResolvers, NodeType } from "../../shared/nodes/node.type.ts";
import { defineConnection, defineCountedConnection } from "../../shared/schema/connection.ts";
import { defineEnum } from "../../shared/schema/enumeration.ts";
import { AddressScalar, BigIntScalar, DateTimeScalar, Hash32Scalar } from "../../shared/schema/scalars.ts";

type Service = AgentTokensService;
type RowOf<List extends "list" | "transfers" | "authorizations" | "clones"> = Awaited<
  ReturnType<Service[List]>
>["rows"][number];

/** A token, its transfers, authorizations and clones as the service returns them. */
export type AgentToken = RowOf<"list">;
export type TokenTransfer = RowOf<"transfers">;
export type Authorization = RowOf<"authorizations">;
export type TokenClone = RowOf<"clones">;
export type Delegation = Awaited<ReturnType<Service["delegationsOf"]>>[number][number];
export type AgentContract = ReturnType<Service["contracts"]>[number];

const AgentGeneration = defineEnum<AgentContract["generation"]>(
  "AgentGeneration",
  "The generation of an agent token contract (ERC-7857).",
  {
    "agent-nft": "AgentNFT, which publishes keys in the event `PublishedSealedKey`.",
    "agentic-id": "AgenticID, the successor, which publishes keys in the event `ITransferred`.",
  },
);
const AuthorizationEnd = defineEnum<NonNullable<Authorization["endReason"]>>(
  "AuthorizationEnd",
  "Why an authorization to use a token ended.",
  {
    revoked: "The authorization was revoked.",
    cleared: "The owner cleared all authorizations.",
    transferred: "The token was transferred, which clears all authorizations without an event.",
  },
);

/** An agent token contract. The rest of its fields are resolved. */
@Directive('@key(fields: "id")')
@ObjectType("AgentContract", {
  description: "An agent token contract that this service indexes.",
  implements: NodeType,
  simpleResolvers: true,
})
export class AgentContractType {
  @Field(() => AddressScalar, { description: "The contract's address." })
  address!: string;

  @Field(() => AgentGeneration, { description: "The contract's generation." })
  generation!: AgentContract["generation"];

  @Field(() => BigIntScalar, {
    nullable: true,
    description:
      "The block from which this service indexes the contract. Null if it indexes from the network's first block.",
  })
  startBlock!: bigint | undefined;
}

/** A piece of a token's data. The rest of its fields are resolved. */
@ObjectType("IntelligentData", {
  description: "A piece of a token's data, encrypted and stored off chain.",
  simpleResolvers: true,
})
export class IntelligentDataType {
  @Field(() => Int, {
    description: "0-based index within the token's data. Keys and proofs come in this order.",
  })
  index!: number;

  @Field(() => String, {
    description:
      "The owner's description of the data, truncated to 4,096 characters. U+FFFD stands for U+0000, which is not stored.",
  })
  description!: string;

  @Field(() => Hash32Scalar, { description: "The hash of the ciphertext." })
  dataHash!: string;
}

/** A token. The rest of its fields are resolved. */
@Directive('@key(fields: "contract tokenId")')
@Directive('@key(fields: "id")')
@ObjectType("AgentToken", {
  description: "An agent token (ERC-7857), as of the last indexed block.",
  implements: NodeType,
  simpleResolvers: true,
})
export class AgentTokenType {
  @Field(() => AddressScalar, { description: "The token's contract." })
  contract!: string;

  @Field(() => BigIntScalar, { description: "The token's id within its contract." })
  tokenId!: bigint;

  @Field(() => AgentGeneration, { description: "The generation of the token's contract." })
  generation!: AgentContract["generation"];

  @Field(() => Boolean, {
    description:
      "Whether the last transfer came without a sealed key, so that the owner cannot decrypt the data. " +
      "False again once the owner updates the data.",
  })
  movedWithoutKey!: boolean;

  @Field(() => BigIntScalar, { description: "The block of the token's last transfer." })
  blockNumber!: bigint;

  @Field(() => Hash32Scalar, { description: "The transaction of the token's last transfer." })
  transactionHash!: string;
}

/** The global id of a token. */
export const AgentTokenNodeResolvers = defineNodeResolvers<AgentToken>(() => AgentTokenType, {
  name: "AgentToken",
  keyOf: ({ contract, tokenId }) => `${contract.toLowerCase()}:${tokenId}`,
});

/** The global id of a contract. */
export const AgentContractNodeResolvers = defineNodeResolvers<AgentContract>(() => AgentContractType, {
  name: "AgentContract",
  keyOf: ({ address }) => address.toLowerCase(),
});

/** A transfer of a token. The rest of its fields are resolved. */
@ObjectType("TokenTransfer", {
  description: "A transfer of an agent token, including mints and burns.",
  simpleResolvers: true,
})
export class TokenTransferType {
  @Field(() => Boolean, { description: "Whether the transfer came with keys sealed for the receiver." })
  withKey!: boolean;

  @Field(() => BigIntScalar, { description: "The block of the transfer." })
  blockNumber!: bigint;

  @Field(() => Hash32Scalar, { description: "The transaction of the transfer." })
  transactionHash!: string;

  @Field(() => DateTimeScalar, { description: "When the transfer was first seen by this service." })
  seenAt!: Date;
}

/** An authorization. The rest of its fields are resolved. */
@ObjectType("TokenAuthorization", {
  description: "An authorization, current or ended, to use a token.",
  simpleResolvers: true,
})
export class TokenAuthorizationType {
  @Field(() => BigIntScalar, { description: "The block in which the authorization was granted." })
  blockNumber!: bigint;

  @Field(() => Hash32Scalar, { description: "The transaction in which the authorization was granted." })
  transactionHash!: string;

  @Field(() => BigIntScalar, {
    name: "endedBlockNumber",
    simple: false,
    nullable: true,
    description: "The block in which the authorization ended. Null while it is in effect.",
  })
  endedBlock!: bigint | null;

  @Field(() => AuthorizationEnd, {
    nullable: true,
    description: "Why the authorization ended. Null while it is in effect.",
  })
  endReason!: Authorization["endReason"];
}

/** A clone. The rest of its fields are resolved. */
@ObjectType("TokenClone", {
  description: "A token cloned from another token's data.",
  simpleResolvers: true,
})
export class TokenCloneType {
  @Field(() => BigIntScalar, { description: "The block in which the clone was created." })
  blockNumber!: bigint;

  @Field(() => Hash32Scalar, { description: "The transaction in which the clone was created." })
  transactionHash!: string;
}

/** An access delegation. The rest of its fields are resolved. */
@ObjectType("AccessDelegation", {
  description:
    "A delegation: an assistant may sign access proofs for an account, for all tokens of a contract.",
  simpleResolvers: true,
})
export class AccessDelegationType {
  @Field(() => AddressScalar, { description: "The contract whose tokens the delegation covers." })
  contract!: string;

  @Field(() => BigIntScalar, { description: "The block since which the delegation is in effect." })
  blockNumber!: bigint;
}

/** Lists of these types. */
export const AgentTokenConnection = defineCountedConnection("AgentToken", () => AgentTokenType);
export const TokenTransferConnection = defineConnection("TokenTransfer", () => TokenTransferType);
export const TokenAuthorizationConnection = defineConnection(
  "TokenAuthorization",
  () => TokenAuthorizationType,
);
export const TokenCloneConnection = defineConnection("TokenClone", () => TokenCloneType);
