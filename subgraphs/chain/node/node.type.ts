import "../../shared/schema/reflect.ts";
import { Field, Int, ObjectType } from "type-graphql";
import type { ConsensusStatus } from "../../../src/chain/node/consensus.client.ts";
import type { Diagnosis, DiagnosisKind as DiagnosisName } from "../../../src/chain/node/diagnosis.ts";
import type { EngineStatus } from "../../../src/chain/node/engine.client.ts";
import type { ExecutionClientName, ExecutionStatus } from "../../../src/chain/node/execution.client.ts";
import type { PartState } from "../../../src/chain/node/part-state.ts";
import type { PreflightCheck, PreflightRule as Rule, Verdict } from "../../../src/chain/node/preflight.ts";
import type { CheckKind, StepCheck, SwitchPlan, SwitchStep } from "../../../src/chain/node/switch-plan.ts";
import { defineEnum } from "../../shared/schema/enumeration.ts";
import { BigIntScalar, DateTimeScalar } from "../../shared/schema/scalars.ts";

/** The kinds of execution client. */
export const ExecutionClient = defineEnum<ExecutionClientName>(
  "ExecutionClient",
  "The kinds of execution client that make a valid node.",
  { geth: "Written in Go.", reth: "Written in Rust." },
);

const NodePartState = defineEnum<PartState>("NodePartState", "Whether a part of the node could be read.", {
  unset: "The configuration does not say where it is.",
  unreachable: "It does not answer.",
  malformed: "What answers is not such a part.",
  answering: "It answers.",
});

const PreflightRule = defineEnum<Rule>("PreflightRule", "The rules of operating a node.", {
  initialised_once: "Both clients are initialised once, and never again.",
  same_chain: "The execution client is of the network's chain.",
  same_jwt_secret: "Both clients have the same JWT secret file.",
  execution_before_consensus: "The engine API listens before the consensus client is started.",
  not_while_syncing: "The consensus client does not run while the execution client is syncing.",
  near_the_head: "The node is at the height of a public RPC, or within a few blocks.",
  validator_state: "The file of what the validator key has signed is there.",
  no_double_signing: "No other machine signs with the same validator key.",
  p2p_ports: "The world reaches the P2P ports.",
  ethereum_rpc: "The Ethereum RPC for restaking is of the mainnet.",
  disk: "4 TB of disk.",
  memory: "64 GB of memory.",
  processors: "8 processors.",
});

const PreflightVerdict = defineEnum<Verdict>("PreflightVerdict", "How a rule fares.", {
  pass: "It is kept.",
  fail: "It is broken.",
  unknown: "It is not configured, or cannot be found out from here.",
});

const DiagnosisKind = defineEnum<DiagnosisName>("DiagnosisKind", "What a node's message is about.", {
  mismatched_state_root: "A block that was executed gave another state than the export says.",
  interrupted_import: "An import was interrupted and begun again.",
  invalid_forkchoice_state: "The consensus client was started while the execution client was syncing.",
  missing_validator_state: "The file of what the validator key has signed is missing.",
  engine_refuses_secret: "The clients have different JWT secrets.",
  engine_unreachable: "The consensus client was started before the engine API listened.",
});

const SwitchCheckKind = defineEnum<CheckKind>("SwitchCheckKind", "What a check looks at.", {
  file_exists: "A file or folder.",
  files_equal: "Whether two files are the same.",
  process_stopped: "Whether a process has ended.",
  port_listens: "Whether a port takes connections.",
  port_silent: "Whether a port refuses connections.",
  rpc_result: "What an interface answers.",
  heights_near: "Whether two heights are equal, or within a few blocks.",
  log_says: "What a log says.",
});

/** The consensus client. */
@ObjectType("NodeConsensus", {
  description:
    "How the consensus client stands. All but `state` and `detail` is null while it does not answer.",
  simpleResolvers: true,
})
export class NodeConsensusType {
  @Field(() => NodePartState, { description: "Whether it could be read." })
  state!: PartState;

  @Field(() => String, { nullable: true, description: "Why it could not be read." })
  detail!: string | null;

  @Field(() => String, { nullable: true, description: "Its identity among its peers." })
  nodeId!: string | null;

  @Field(() => String, { nullable: true, description: "The name that its operator gave it." })
  moniker!: string | null;

  @Field(() => String, { nullable: true, description: "The consensus network that it is of." })
  network!: string | null;

  @Field(() => String, { nullable: true, description: "Its version." })
  version!: string | null;

  @Field(() => BigIntScalar, { nullable: true, description: "Its newest block." })
  latestHeight!: bigint | null;

  @Field(() => DateTimeScalar, { nullable: true, description: "When that block was made." })
  latestBlockAt!: Date | null;

  @Field(() => Boolean, { nullable: true, description: "False when it is synced." })
  catchingUp!: boolean | null;

  @Field(() => String, { nullable: true, description: "The validator that its key is of." })
  validatorAddress!: string | null;

  @Field(() => BigIntScalar, { nullable: true, description: "That validator's weight; 0 for none." })
  votingPower!: bigint | null;
}

/** The execution client. */
@ObjectType("NodeExecution", {
  description:
    "How the execution client stands. All but `state` and `detail` is null while it does not answer.",
  simpleResolvers: true,
})
export class NodeExecutionType {
  @Field(() => NodePartState, { description: "Whether it could be read." })
  state!: PartState;

  @Field(() => String, { nullable: true, description: "Why it could not be read." })
  detail!: string | null;

  @Field(() => ExecutionClient, {
    nullable: true,
    description: "Its kind, null for one that we do not know.",
  })
  client!: ExecutionClientName | null;

  @Field(() => String, { nullable: true, description: "Its name and version, as it says." })
  clientVersion!: string | null;

  @Field(() => Int, { nullable: true, description: "The chain that it is of." })
  chainId!: number | null;

  @Field(() => BigIntScalar, { nullable: true, description: "Its newest block." })
  blockNumber!: bigint | null;

  @Field(() => Boolean, { nullable: true, description: "Whether it is still syncing." })
  syncing!: boolean | null;

  @Field(() => BigIntScalar, { nullable: true, description: "How far it is, while it is syncing." })
  currentBlock!: bigint | null;

  @Field(() => BigIntScalar, { nullable: true, description: "Where it wants to go, while it is syncing." })
  highestBlock!: bigint | null;

  @Field(() => Int, { nullable: true, description: "How many peers it has." })
  peers!: number | null;
}

/** The engine API. */
@ObjectType("NodeEngine", { description: "How the engine API stands.", simpleResolvers: true })
export class NodeEngineType {
  @Field(() => NodePartState, { description: "Whether it listens." })
  state!: PartState;

  @Field(() => String, { description: "What was found, in a sentence." })
  detail!: string;

  @Field(() => Boolean, {
    nullable: true,
    description: "Whether it takes the consensus client's secret, null where that could not be tried.",
  })
  takesSecret!: boolean | null;

  @Field(() => Boolean, {
    nullable: true,
    description: "Whether it refuses calls without a secret, as it must.",
  })
  refusesOthers!: boolean | null;
}

/** How a rule fares. */
@ObjectType("PreflightCheck", { description: "How a rule of operating a node fares.", simpleResolvers: true })
export class PreflightCheckType implements PreflightCheck {
  @Field(() => PreflightRule, { description: "Which rule." })
  rule!: Rule;

  @Field(() => PreflightVerdict, { description: "How it fares." })
  verdict!: Verdict;

  @Field(() => String, { description: "What was found." })
  detail!: string;

  @Field(() => String, { nullable: true, description: "What to do next, null for nothing." })
  next!: string | undefined;
}

/** Two roots of a block's state. */
@ObjectType("StateRoots", { description: "Two roots of a block's state that differ.", simpleResolvers: true })
export class StateRootsType {
  @Field(() => String, { description: "What the execution gave." })
  got!: string;

  @Field(() => String, { description: "What the block says." })
  expected!: string;
}

/** What a message means. */
@ObjectType("NodeDiagnosis", {
  description: "What a node's message means, and what to do.",
  simpleResolvers: true,
})
export class NodeDiagnosisType implements Diagnosis {
  @Field(() => DiagnosisKind, { description: "What it is about." })
  kind!: DiagnosisName;

  @Field(() => String, { description: "Why it came." })
  cause!: string;

  @Field(() => [String], { description: "What to do, in this order." })
  next!: readonly string[];

  @Field(() => [String], { description: "What makes it worse." })
  never!: readonly string[];

  @Field(() => BigIntScalar, { nullable: true, description: "The block that the message is about." })
  blockNumber!: bigint | undefined;

  @Field(() => BigIntScalar, { nullable: true, description: "The block where the database stands." })
  parentBlockNumber!: bigint | undefined;

  @Field(() => BigIntScalar, {
    nullable: true,
    description: "From which height on the export has to be trimmed again.",
  })
  retrimFrom!: bigint | undefined;

  @Field(() => StateRootsType, { nullable: true, description: "The roots that the message names." })
  stateRoots!: StateRootsType | undefined;
}

/** How to know that a step is done. */
@ObjectType("SwitchCheck", { description: "How to know that a step is done.", simpleResolvers: true })
export class SwitchCheckType implements StepCheck {
  @Field(() => SwitchCheckKind, { description: "What it looks at." })
  kind!: CheckKind;

  @Field(() => String, { description: "At what." })
  subject!: string;

  @Field(() => String, { description: "How it has to be." })
  expected!: string;
}

/** A step of a procedure. */
@ObjectType("SwitchStep", { description: "A step of a procedure.", simpleResolvers: true })
export class SwitchStepType implements SwitchStep {
  @Field(() => Int, { description: "Which step, from 1 on." })
  order!: number;

  @Field(() => String, { description: "A short name that stays the same." })
  id!: string;

  @Field(() => String, { description: "What to do." })
  title!: string;

  @Field(() => String, { description: "Why." })
  why!: string;

  @Field(() => String, {
    nullable: true,
    description:
      "The command, where it does not depend on how the node is run; what stands in braces is yours.",
  })
  command!: string | undefined;

  @Field(() => [SwitchCheckType], { description: "What must hold before the next step." })
  checks!: readonly SwitchCheckType[];

  @Field(() => Boolean, { description: "Whether data go that only a backup has then." })
  isDestructive!: boolean;
}

/** How to switch between execution clients. */
@ObjectType("SwitchPlan", {
  description: "How to switch from one execution client to the other, and back again.",
  simpleResolvers: true,
})
export class SwitchPlanType implements SwitchPlan {
  @Field(() => ExecutionClient, { description: "The client that the node has." })
  from!: ExecutionClientName;

  @Field(() => ExecutionClient, { description: "The client that it shall have." })
  to!: ExecutionClientName;

  @Field(() => [String], { description: "What to know before." })
  notes!: readonly string[];

  @Field(() => [SwitchStepType], { description: "The steps, in their order." })
  steps!: readonly SwitchStepType[];

  @Field(() => [SwitchStepType], { description: "The way back, from any step on." })
  rollback!: readonly SwitchStepType[];
}

/** The operator's node. All of its fields are resolved. */
@ObjectType("OperatorNode", {
  description:
    "The operator's own node. How it stands is for wallets of NODE_OPERATORS; what messages mean, and how to switch clients, is for everyone.",
  simpleResolvers: true,
})
export class OperatorNodeType {}

/** The consensus client as the graph shows it. */
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

/** The execution client as the graph shows it. */
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
      peers: null,
    };
  return {
    ...status,
    detail: null,
    client: status.client ?? null,
    currentBlock: status.currentBlock ?? null,
    highestBlock: status.highestBlock ?? null,
    peers: status.peers ?? null,
  };
}

/** The engine API as the graph shows it. */
export function toEngine(status: EngineStatus): NodeEngineType {
  const { state, detail } = status;
  return state === "answering"
    ? { state, detail, takesSecret: status.takesSecret ?? null, refusesOthers: status.refusesOthers }
    : { state, detail, takesSecret: null, refusesOthers: null };
}
