import "../../shared/schema/reflect.ts";
import { Field, ObjectType } from "type-graphql";
import type { Diagnosis, DiagnosisKind as DiagnosisName } from "../../../src/chain/node/diagnosis.ts";
import { defineEnum } from "../../shared/schema/enumeration.ts";
import { BigIntScalar } from "../../shared/schema/scalars.ts";

const DiagnosisKind = defineEnum<DiagnosisName>("DiagnosisKind", "The problem behind a node's message.", {
  mismatched_state_root: "Executing a block gave a state root that differs from the export.",
  interrupted_import: "An import was interrupted and restarted.",
  invalid_forkchoice_state: "The consensus client was started while the execution client was syncing.",
  missing_validator_state: "The validator state file, which records what the key has signed, is missing.",
  engine_refuses_secret: "The clients use different JWT secrets.",
  engine_unreachable: "The consensus client was started before the engine API listened.",
});

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

  @Field(() => BigIntScalar, {
    nullable: true,
    description:
      "The newest block of the node's database, which should be the parent of `blockNumber`. Null if the message does not state it.",
  })
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
