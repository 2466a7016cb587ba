import "../../shared/schema/reflect.ts";
import { Field, Int, ObjectType } from "type-graphql";
import type { ExecutionClientName } from "../../../src/chain/node/execution.client.ts";
import type { SwitchPlan } from "../../../src/chain/node/switch-plan.ts";
import type { CheckKind, StepCheck, SwitchStep } from "../../../src/chain/node/switch-step.ts";
import { defineEnum } from "../../shared/schema/enumeration.ts";
import { ExecutionClient } from "./node.type.ts";

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

  @Field(() => String, { name: "stepId", simple: false, description: "A short, stable name." })
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

  @Field(() => Boolean, {
    name: "destructive",
    simple: false,
    description: "Whether the step deletes data that only a backup can restore.",
  })
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
