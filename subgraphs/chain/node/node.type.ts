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

const PreflightRule = defineEnum<Rule>("PreflightRule", "A rule for operating a node.", {
  initialised_once: "Both clients are initialised exactly once.",
  same_chain: "The execution client runs on the network's chain.",
  same_jwt_secret: "Both clients use the same JWT secret file.",
  execution_before_consensus: "The engine API listens before the consensus client is started.",
  not_while_syncing: "The consensus client does not run while the execution client is syncing.",
  near_the_head: "The node's height is within a few blocks of a public RPC.",
  validator_state: "The validator state file, which records what the key has signed, exists.",
  no_double_signing: "No other machine signs with the same validator key.",
  p2p_ports: "The P2P ports are reachable from the internet.",
  ethereum_rpc: "The Ethereum RPC for restaking serves the mainnet.",
  disk: "At least 4 TB of disk.",
  memory: "At least 64 GB of memory.",
  processors: "At least 8 CPUs.",
});

const PreflightVerdict = defineEnum<Verdict>("PreflightVerdict", "The verdict on a rule.", {
  pass: "The rule is met.",
  fail: "The rule is violated.",
  unknown: "The rule is not configured, or cannot be checked from this service.",
});

const DiagnosisKind = defineEnum<DiagnosisName>("DiagnosisKind", "The problem behind a node's message.", {
  mismatched_state_root: "Executing a block gave a state root that differs from the export.",
  interrupted_import: "An import was interrupted and restarted.",
  invalid_forkchoice_state: "The consensus client was started while the execution client was syncing.",
  missing_validator_state: "The validator state file, which records what the key has signed, is missing.",
  engine_refuses_secret: "The clients use different JWT secrets.",
  engine_unreachable: "The consensus client was started before the engine API listened.",
});

const SwitchCheckKind = defineEnum<CheckKind>("SwitchCheckKind", "The kind of a check.", {
  file_exists: "A file or folder exists.",
  files_equal: "Two files are identical.",
  process_stopped: "A process has stopped.",
  port_listens: "A port accepts connections.",
  port_silent: "A port refuses connections.",
  rpc_result: "An RPC call returns the expected result.",
  heights_near: "Two heights are equal or within a few blocks.",
  log_says: "A log contains the expected text.",
});

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

  @Field(() => Int, { nullable: true, description: "The client's chain id." })
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
  peers!: number | null;
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

/** The verdict on a rule. */
@ObjectType("PreflightCheck", {
  description: "The verdict on a rule for operating a node.",
  simpleResolvers: true,
})
export class PreflightCheckType implements PreflightCheck {
  @Field(() => PreflightRule, { description: "The rule." })
  rule!: Rule;

  @Field(() => PreflightVerdict, { description: "The verdict." })
  verdict!: Verdict;

  @Field(() => String, { description: "The finding." })
  detail!: string;

  @Field(() => String, { nullable: true, description: "What to do next. Null if nothing." })
  next!: string | undefined;
}

/** Two differing state roots of a block. */
@ObjectType("StateRoots", { description: "Two differing state roots of a block.", simpleResolvers: true })
export class StateRootsType {
  @Field(() => String, { description: "The state root that execution gave." })
  got!: string;

  @Field(() => String, { description: "The state root in the block." })
  expected!: string;
}

/** The explanation of a message. */
@ObjectType("NodeDiagnosis", {
  description: "The explanation of a node's message, and what to do.",
  simpleResolvers: true,
})
export class NodeDiagnosisType implements Diagnosis {
  @Field(() => DiagnosisKind, { description: "The problem behind the message." })
  kind!: DiagnosisName;

  @Field(() => String, { description: "The cause of the message." })
  cause!: string;

  @Field(() => [String], { description: "What to do, in order." })
  next!: readonly string[];

  @Field(() => [String], { description: "What not to do, because it makes the problem worse." })
  never!: readonly string[];

  @Field(() => BigIntScalar, { nullable: true, description: "The block in the message. Null if none." })
  blockNumber!: bigint | undefined;

  @Field(() => BigIntScalar, { nullable: true, description: "The database's block. Null if not stated." })
  parentBlockNumber!: bigint | undefined;

  @Field(() => BigIntScalar, {
    nullable: true,
    description: "Trim the export again from this height. Null if not needed.",
  })
  retrimFrom!: bigint | undefined;

  @Field(() => StateRootsType, {
    nullable: true,
    description: "The state roots in the message. Null if none.",
  })
  stateRoots!: StateRootsType | undefined;
}

/** A check that a step is done. */
@ObjectType("SwitchCheck", { description: "A check that a step is done.", simpleResolvers: true })
export class SwitchCheckType implements StepCheck {
  @Field(() => SwitchCheckKind, { description: "The kind of check." })
  kind!: CheckKind;

  @Field(() => String, { description: "What to check, such as a file or a port." })
  subject!: string;

  @Field(() => String, { description: "The expected result." })
  expected!: string;
}

/** A step of a procedure. */
@ObjectType("SwitchStep", { description: "A step of a procedure.", simpleResolvers: true })
export class SwitchStepType implements SwitchStep {
  @Field(() => Int, { description: "1-based number of the step." })
  order!: number;

  @Field(() => String, { description: "A short, stable name." })
  id!: string;

  @Field(() => String, { description: "What to do." })
  title!: string;

  @Field(() => String, { description: "Why the step is necessary." })
  why!: string;

  @Field(() => String, {
    nullable: true,
    description: "The command, with placeholders in braces. Null if it depends on how the node is run.",
  })
  command!: string | undefined;

  @Field(() => [SwitchCheckType], { description: "What must hold before the next step." })
  checks!: readonly SwitchCheckType[];

  @Field(() => Boolean, { description: "Whether the step deletes data that only a backup can restore." })
  isDestructive!: boolean;
}

/** The procedure for switching execution clients. */
@ObjectType("SwitchPlan", {
  description: "The procedure for switching from one execution client to the other, and back.",
  simpleResolvers: true,
})
export class SwitchPlanType implements SwitchPlan {
  @Field(() => ExecutionClient, { description: "The node's current client." })
  from!: ExecutionClientName;

  @Field(() => ExecutionClient, { description: "The client to switch to." })
  to!: ExecutionClientName;

  @Field(() => [String], { description: "Notes to read before starting." })
  notes!: readonly string[];

  @Field(() => [SwitchStepType], { description: "The steps, in order." })
  steps!: readonly SwitchStepType[];

  @Field(() => [SwitchStepType], { description: "The rollback steps, which apply from any step." })
  rollback!: readonly SwitchStepType[];
}

/** The operator's node. All of its fields are resolved. */
@ObjectType("OperatorNode", {
  description:
    "The operator's node. Its status requires an account listed in `NODE_OPERATORS`; diagnoses and switch plans " +
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

/** Maps the engine API's status to its GraphQL type. */
export function toEngine(status: EngineStatus): NodeEngineType {
  const { state, detail } = status;
  return state === "answering"
    ? { state, detail, takesSecret: status.takesSecret ?? null, refusesOthers: status.refusesOthers }
    : { state, detail, takesSecret: null, refusesOthers: null };
}
