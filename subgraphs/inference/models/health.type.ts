import "../../shared/schema/reflect.ts";
import { Field, Int, ObjectType } from "type-graphql";
import type { ProviderHealth } from "../../../src/inference/providers/health/health.service.ts";
import type {
  HealthGrain,
  HealthPoint,
} from "../../../src/inference/providers/health/health-history.service.ts";
import type { ProviderState } from "../../../src/inference/routing/choice-context.ts";
import { CircuitState } from "../../shared/circuit-state.type.ts";
import { defineEnum } from "../../shared/schema/enumeration.ts";
import { DateTimeScalar } from "../../shared/schema/scalars.ts";

type Circuit = ProviderState["circuit"];

/** The health of a provider. */
@ObjectType("ProviderHealth", {
  description: "The health of a provider, measured by the router process that serves this query.",
  simpleResolvers: true,
})
export class ProviderHealthType {
  @Field(() => CircuitState, { description: "Whether requests are sent to the provider." })
  circuit!: Circuit;

  @Field(() => Int, {
    nullable: true,
    description: "The provider's time to first byte, in milliseconds. Null without recent requests.",
  })
  latencyMs!: number | null;

  @Field(() => Int, {
    nullable: true,
    description: "The percentage of requests that the provider answers. Null before the first request.",
  })
  uptimePercent!: number | null;

  @Field(() => Int, { description: "How many requests the provider is answering now." })
  inFlight!: number;
}

/** The periods of a history of health. */
export const HealthPeriod = defineEnum<HealthGrain>("HealthPeriod", "The periods of a history, in UTC.", {
  hour: "Each hour of the last 7 days.",
  day: "Each day of the last 30 days.",
});

/** The health of a provider in an hour or a day. */
@ObjectType("ProviderHealthPoint", {
  description:
    "What all router processes observed of a provider in one period. Times to the first byte are accurate to within 10 %.",
  simpleResolvers: true,
})
export class ProviderHealthPointType {
  @Field(() => DateTimeScalar, { description: "The start of the period." })
  startsAt!: Date;

  @Field(() => Int, {
    description: "The number of requests that the provider answered or failed to answer.",
  })
  requestCount!: number;

  @Field(() => Int, { description: "How many of them the provider failed to answer." })
  failedCount!: number;

  @Field(() => Int, {
    nullable: true,
    description: "The median time to the first byte, in milliseconds. Null without a first byte.",
  })
  p50Ms!: number | null;

  @Field(() => Int, {
    nullable: true,
    description:
      "The 95th percentile of the time to the first byte, in milliseconds. Null without a first byte.",
  })
  p95Ms!: number | null;
}

/** Maps a point of a provider's history to its GraphQL type. */
export function toHealthPoint({
  startsAt,
  requests,
  failures,
  latency,
}: HealthPoint): ProviderHealthPointType {
  return {
    startsAt,
    requestCount: requests,
    failedCount: failures,
    p50Ms: latency?.p50Ms ?? null,
    p95Ms: latency?.p95Ms ?? null,
  };
}

/** Maps a provider's health to its GraphQL type. */
export function toHealth({ circuit, latencyMs, uptime, inFlight }: ProviderHealth): ProviderHealthType {
  return {
    circuit,
    latencyMs: latencyMs === undefined ? null : Math.round(latencyMs),
    uptimePercent: uptime === undefined ? null : Math.round(uptime * 100),
    inFlight,
  };
}
