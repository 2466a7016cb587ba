import "../../shared/schema/reflect.ts";
import { Field, Int, ObjectType } from "type-graphql";
import type { ProviderHealth } from "../../../src/inference/providers/health.service.ts";
import type { ProviderState } from "../../../src/inference/routing/choice-context.ts";
import { defineEnum } from "../../shared/schema/enumeration.ts";

type Circuit = ProviderState["circuit"];

/** Whether requests are sent to a provider. */
const CircuitState = defineEnum<Circuit>(
  "CircuitState",
  "Whether requests are sent to a provider, based on its recent responses.",
  {
    closed: "Requests are sent to the provider.",
    "half-open": "One trial request is sent to see whether the provider has recovered.",
    open: "The provider failed repeatedly and receives no requests for a while.",
  },
);

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

/** Maps a provider's health to its GraphQL type. */
export function toHealth({ circuit, latencyMs, uptime, inFlight }: ProviderHealth): ProviderHealthType {
  return {
    circuit,
    latencyMs: latencyMs === undefined ? null : Math.round(latencyMs),
    uptimePercent: uptime === undefined ? null : Math.round(uptime * 100),
    inFlight,
  };
}
