import "../../shared/schema/reflect.ts";
import { Field, Float, Int, ObjectType } from "type-graphql";
import type { FailureKind } from "../../../src/inference/providers/exchange/provider-failure.ts";
import type { CircuitReport } from "../../../src/inference/providers/health/health.service.ts";
import type { ServiceProcess } from "../../../src/operations/process-report.ts";
import { CircuitState } from "../../shared/circuit-state.type.ts";
import { defineEnum } from "../../shared/schema/enumeration.ts";
import { AddressScalar, BigIntScalar, DateTimeScalar } from "../../shared/schema/scalars.ts";

const ProviderFailureKind = defineEnum<FailureKind>("ProviderFailureKind", "How a provider failed.", {
  unreachable: "It was unreachable, or closed the connection.",
  silent: "It did not respond in time.",
  forbidden_address: "Its address is not allowed.",
  busy: "It had no capacity.",
  credential: "It rejected the router's credential.",
  field: "It rejected a field that the router adds.",
  model_missing: "It does not have the model.",
  failed: "It reported an error.",
  malformed: "Its response was not valid.",
  differs: "Its response differed from the one that had already begun.",
});

/** A provider as one process sees it. */
@ObjectType("ProcessCircuit", {
  description: "A provider's model that a process sends no requests to, or that failed in the last hour.",
  simpleResolvers: true,
})
export class ProcessCircuitType {
  @Field(() => AddressScalar, { description: "The address of the provider." })
  providerAddress!: string;

  @Field(() => String, { description: "The model that the provider offers." })
  modelId!: string;

  @Field(() => CircuitState, { description: "Whether the process sends requests to the provider." })
  state!: CircuitReport["state"];

  @Field(() => DateTimeScalar, {
    nullable: true,
    description: "When the circuit opened. Null while it is closed.",
  })
  openedAt!: Date | null;

  @Field(() => DateTimeScalar, {
    nullable: true,
    description: "The end of the pause that the provider or an operator requested. Null if there is none.",
  })
  pauseEndsAt!: Date | null;

  @Field(() => ProviderFailureKind, {
    nullable: true,
    description: "How the provider last failed. Null if it has not failed.",
  })
  failureKind!: FailureKind | null;

  @Field(() => DateTimeScalar, {
    nullable: true,
    description: "When the provider last failed. Null if it has not failed.",
  })
  failedAt!: Date | null;
}

/** A process of this deployment. */
@ObjectType("ServiceProcess", {
  description: "A process of this deployment, as of its last report. Processes report every 5 s.",
  simpleResolvers: true,
})
export class ServiceProcessType {
  @Field(() => String, { description: "The process's id, which is new at each start." })
  processId!: string;

  @Field(() => String, { description: "The name of the process's machine." })
  host!: string;

  @Field(() => String, {
    description: "The work of the process: `all`, `gateway`, `worker` or `subgraph:<name>`.",
  })
  role!: string;

  @Field(() => String, { description: "The version of the product." })
  version!: string;

  @Field(() => String, { description: "The version of Node." })
  nodeVersion!: string;

  @Field(() => DateTimeScalar, { description: "When the process started." })
  startedAt!: Date;

  @Field(() => DateTimeScalar, { description: "When the process last reported." })
  reportedAt!: Date;

  @Field(() => Boolean, {
    description:
      "Whether the process has not reported for 20 s: it hangs, was killed, or cannot write to the database. After an hour, it is no longer listed.",
  })
  silent!: boolean;

  @Field(() => Float, {
    description:
      "The median delay of the process's event loop between its last two reports, in milliseconds.",
  })
  eventLoopDelayP50Ms!: number;

  @Field(() => Float, { description: "The 99th percentile of that delay, in milliseconds." })
  eventLoopDelayP99Ms!: number;

  @Field(() => BigIntScalar, { description: "The memory that the operating system has given the process." })
  residentBytes!: bigint;

  @Field(() => Int, {
    description: "The number of open event streams. Many subscriptions may share a stream.",
  })
  eventStreamCount!: number;

  @Field(() => Int, { description: "The number of open subscriptions of its clients." })
  subscriptionCount!: number;

  @Field(() => [ProcessCircuitType], {
    description:
      "Providers that the process sends no requests to, or that failed in the last hour. At most 100.",
  })
  circuits!: readonly ProcessCircuitType[];
}

/** Maps a process to its GraphQL type. */
export function toServiceProcess(of: ServiceProcess): ServiceProcessType {
  return {
    processId: of.id,
    host: of.host,
    role: of.role,
    version: of.version,
    nodeVersion: of.nodeVersion,
    startedAt: of.startedAt,
    reportedAt: of.reportedAt,
    silent: of.isSilent,
    eventLoopDelayP50Ms: of.delayP50Ms,
    eventLoopDelayP99Ms: of.delayP99Ms,
    residentBytes: BigInt(of.residentBytes),
    eventStreamCount: of.eventStreams,
    subscriptionCount: of.subscriptions,
    circuits: of.circuits.map(toCircuit),
  };
}

function toCircuit({ provider, model, state, ...times }: CircuitReport): ProcessCircuitType {
  const { openedAt, restsUntil, lastFailure } = times;
  return {
    providerAddress: provider,
    modelId: model,
    state,
    openedAt: timeOf(openedAt),
    pauseEndsAt: timeOf(restsUntil),
    failureKind: lastFailure?.kind ?? null,
    failedAt: timeOf(lastFailure?.at ?? null),
  };
}

function timeOf(iso: string | null): Date | null {
  return iso === null ? null : new Date(iso);
}
