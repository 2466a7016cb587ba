import "../../shared/schema/reflect.ts";
import { Field, Int, ObjectType } from "type-graphql";
import type { ConsensusStatus } from "../../../src/chain/node/consensus.client.ts";
import type { EngineStatus } from "../../../src/chain/node/engine.client.ts";
import type { ExecutionClientName, ExecutionStatus } from "../../../src/chain/node/execution.client.ts";
import type { PartState } from "../../../src/chain/node/part-state.ts";
import { defineEnum } from "../../shared/schema/enumeration.ts";
import { BigIntScalar, DateTimeScalar } from "../../shared/schema/scalars.ts";
import { chainIdOrNull } from "../chain-id.ts";

/** The execution clients. */
export const ExecutionClient = defineEnum<ExecutionClientName>(
  "ExecutionClient",
  "An execution client of a valid node.",
  { geth: "Geth, written in Go.", reth: "Reth, written in Rust." },
);

const NodePartState = defineEnum<PartState>(
  "NodePartState",
  "Whether a component of the node could be read.",
  {
    unset: "The component's address is not configured.",
    unreachable: "The component does not respond.",
    malformed: "The response is not that of such a component.",
    answering: "The component responds.",
  },
);

/** The consensus client. */
@ObjectType("NodeConsensus", {
  description:
    "The status of the consensus client. All fields but `state` and `detail` are null while it does not respond.",
  simpleResolvers: true,
})
export class NodeConsensusType {
  @Field(() => NodePartState, { description: "Whether the client could be read." })
  state!: PartState;

  @Field(() => String, { nullable: true, description: "Why the client could not be read, else null." })
  detail!: string | null;

  @Field(() => String, { nullable: true, description: "The node's P2P id." })
  nodeId!: string | null;

  @Field(() => String, { nullable: true, description: "The name that the operator gave the node." })
  moniker!: string | null;

  @Field(() => String, { nullable: true, description: "The consensus network of the node." })
  network!: string | null;

  @Field(() => String, { nullable: true, description: "The client's version." })
  version!: string | null;

  @Field(() => BigIntScalar, { nullable: true, description: "The height of the client's newest block." })
  latestHeight!: bigint | null;

  @Field(() => DateTimeScalar, { nullable: true, description: "The timestamp of the newest block." })
  latestBlockAt!: Date | null;

  @Field(() => Boolean, { nullable: true, description: "Whether the client is still syncing." })
  catchingUp!: boolean | null;

  @Field(() => String, { nullable: true, description: "The node's validator address. Null if none." })
  validatorAddress!: string | null;

  @Field(() => BigIntScalar, { nullable: true, description: "The voting power. 0 if not a validator." })
  votingPower!: bigint | null;
}

/** The execution client. */
@ObjectType("NodeExecution", {
  description:
    "The status of the execution client. All fields but `state` and `detail` are null while it does not respond.",
  simpleResolvers: true,
})
export class NodeExecutionType {
  @Field(() => NodePartState, { description: "Whether the client could be read." })
  state!: PartState;

  @Field(() => String, { nullable: true, description: "Why the client could not be read, else null." })
  detail!: string | null;

  @Field(() => ExecutionClient, { nullable: true, description: "The execution client. Null if unknown." })
  client!: ExecutionClientName | null;

  @Field(() => String, { nullable: true, description: "The client's name and version, as it reports." })
  clientVersion!: string | null;

  @Field(() => Int, { nullable: true, description: "The client's chain id. Null above 2^31 - 1." })
  chainId!: number | null;

  @Field(() => BigIntScalar, { nullable: true, description: "The height of the client's newest block." })
  blockNumber!: bigint | null;

  @Field(() => Boolean, { nullable: true, description: "Whether the client is still syncing." })
  syncing!: boolean | null;

  @Field(() => BigIntScalar, { nullable: true, description: "The current block while syncing, else null." })
  currentBlock!: bigint | null;

  @Field(() => BigIntScalar, { nullable: true, description: "The target block while syncing, else null." })
  highestBlock!: bigint | null;

  @Field(() => Int, { nullable: true, description: "The number of peers. Null if unknown." })
  peerCount!: number | null;
}

/** The engine API. */
@ObjectType("NodeEngine", { description: "The status of the engine API.", simpleResolvers: true })
export class NodeEngineType {
  @Field(() => NodePartState, { description: "Whether the engine API responds." })
  state!: PartState;

  @Field(() => String, { description: "The finding, in a sentence." })
  detail!: string;

  @Field(() => Boolean, {
    nullable: true,
    description:
      "Whether the engine API accepts the consensus client's secret. Null if that could not be tested.",
  })
  takesSecret!: boolean | null;

  @Field(() => Boolean, {
    nullable: true,
    description:
      "Whether the engine API refuses calls without a secret, as it must. Null if it does not respond.",
  })
  refusesOthers!: boolean | null;
}

/** The operator's node. All of its fields are resolved. */
@ObjectType("OperatorNode", {
  description:
    "The operator's node. Its status requires an account that the operator allowed; diagnoses and switch plans " +
    "are public.",
  simpleResolvers: true,
})
export class OperatorNodeType {}

/** Maps the consensus client's status to its GraphQL type. */
export function toConsensus(status: ConsensusStatus): NodeConsensusType {
  const empty = {
    nodeId: null,
    moniker: null,
    network: null,
    version: null,
    latestHeight: null,
    latestBlockAt: null,
    catchingUp: null,
    validatorAddress: null,
    votingPower: null,
    detail: null,
  };
  return {
    ...empty,
    ...status,
    validatorAddress: ("validatorAddress" in status && status.validatorAddress) || null,
  };
}

/** Maps the execution client's status to its GraphQL type. */
export function toExecution(status: ExecutionStatus): NodeExecutionType {
  const { state } = status;
  if (state !== "answering")
    return {
      state,
      detail: status.detail,
      client: null,
      clientVersion: null,
      chainId: null,
      blockNumber: null,
      syncing: null,
      currentBlock: null,
      highestBlock: null,
      peerCount: null,
    };
  return {
    ...status,
    detail: null,
    chainId: chainIdOrNull(status.chainId),
    client: status.client ?? null,
    currentBlock: status.currentBlock ?? null,
    highestBlock: status.highestBlock ?? null,
    peerCount: status.peers ?? null,
  };
}

/** Maps the engine API's status to its GraphQL type. */
export function toEngine(status: EngineStatus): NodeEngineType {
  const { state, detail } = status;
  return state === "answering"
    ? { state, detail, takesSecret: status.takesSecret ?? null, refusesOthers: status.refusesOthers }
    : { state, detail, takesSecret: null, refusesOthers: null };
}
