import "../../shared/schema/reflect.ts";
import { Arg, Ctx, FieldResolver, Query, Resolver } from "type-graphql";
import type { Diagnosis } from "../../../src/chain/node/diagnosis.ts";
import type { ExecutionClientName } from "../../../src/chain/node/execution.client.ts";
import type { PreflightCheck } from "../../../src/chain/node/preflight.ts";
import type { SwitchPlan } from "../../../src/chain/node/switch-plan.ts";
import { permit } from "../../../src/keys/auth/permissions.ts";
import { Requires } from "../../shared/access.ts";
import type { Context } from "../../shared/context.ts";
import { NodeDiagnosisType } from "./diagnosis.type.ts";
import {
  ExecutionClient,
  NodeConsensusType,
  NodeEngineType,
  NodeExecutionType,
  OperatorNodeType,
  toConsensus,
  toEngine,
  toExecution,
} from "./node.type.ts";
import { PreflightCheckType } from "./preflight.type.ts";
import { SwitchPlanType } from "./switch-plan.type.ts";

/** The operator's own node (SPEC 4.5 and 7). */
@Resolver(() => OperatorNodeType)
export class NodeResolver {
  @Query(() => OperatorNodeType, {
    nullable: true,
    description: "The operator's node, and help for operating any node.",
  })
  operatorNode(): OperatorNodeType {
    return {};
  }

  @Requires("node.read")
  @FieldResolver(() => NodeConsensusType, {
    nullable: true,
    description:
      "The status of the consensus client. Null, with an error, without the scope `account:read` of an operator's account.",
  })
  async consensus(@Ctx() context: Context): Promise<NodeConsensusType> {
    requireOperator(context);
    return toConsensus(await context.services.node.consensus());
  }

  @Requires("node.read")
  @FieldResolver(() => NodeExecutionType, {
    nullable: true,
    description:
      "The status of the execution client. Null, with an error, without the scope `account:read` of an operator's account.",
  })
  async execution(@Ctx() context: Context): Promise<NodeExecutionType> {
    requireOperator(context);
    return toExecution(await context.services.node.execution());
  }

  @Requires("node.read")
  @FieldResolver(() => NodeEngineType, {
    nullable: true,
    description:
      "The status of the engine API. Null, with an error, without the scope `account:read` of an operator's account.",
  })
  async engine(@Ctx() context: Context): Promise<NodeEngineType> {
    requireOperator(context);
    return toEngine(await context.services.node.engine());
  }

  @Requires("node.read")
  @FieldResolver(() => [PreflightCheckType], {
    nullable: true,
    description:
      "A verdict for each preflight rule. Null, with an error, without the scope `account:read` of an operator's account.",
  })
  async preflight(@Ctx() context: Context): Promise<readonly PreflightCheck[]> {
    requireOperator(context);
    return context.services.node.preflight();
  }

  @FieldResolver(() => NodeDiagnosisType, {
    nullable: true,
    description: "Explains a node's log message. Null for an unknown message.",
  })
  diagnose(
    @Arg("message", () => String, {
      description: "One or a few lines of the node's log, at most 16,384 characters.",
    })
    message: string,
    @Ctx() { services }: Context,
  ): Diagnosis | undefined {
    return services.node.diagnose(message);
  }

  @FieldResolver(() => SwitchPlanType, {
    nullable: true,
    description: "The procedure for switching from one execution client to the other.",
  })
  switchPlan(
    @Arg("from", () => ExecutionClient, { description: "The node's current client." })
    from: ExecutionClientName,
    @Arg("to", () => ExecutionClient, { description: "The client to switch to." })
    to: ExecutionClientName,
    @Ctx() { services }: Context,
  ): SwitchPlan {
    return services.node.switchPlan(from, to);
  }
}

function requireOperator({ principal, services }: Context): void {
  services.node.requireOperator(permit(principal, "node.read").account);
}
