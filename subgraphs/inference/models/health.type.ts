import "../../shared/schema/reflect.ts";
import { Field, Int, ObjectType } from "type-graphql";
import type { ProviderHealth } from "../../../src/inference/providers/health.service.ts";
import type { ProviderState } from "../../../src/inference/routing/choice.ts";
import { defineEnum } from "../../shared/schema/enumeration.ts";

type Circuit = ProviderState["circuit"];

/** Whether requests are sent to a provider. */
const CircuitState = defineEnum<Circuit>(
  "CircuitState",
  "Whether requests are sent to a provider, by its recent answers.",
  {
    closed: "It is.",
    "half-open": "One request is sent to see whether it is well again.",
    open: "It failed repeatedly and is left alone for a while.",
  },
);

/** How a provider fares. */
@ObjectType("ProviderHealth", {
  description: "How a provider fares, by the requests that the answering process of the router sent to it.",
  simpleResolvers: true,
})
export class ProviderHealthType {
  @Field(() => CircuitState, { description: "Whether requests are sent to it." })
  circuit!: Circuit;

  @Field(() => Int, {
    nullable: true,
    description: "Time to its first byte, in milliseconds. Null without recent requests.",
  })
  latencyMs!: number | null;

  @Field(() => Int, {
    nullable: true,
    description: "How many of 100 requests it answers; null before the first.",
  })
  uptimePercent!: number | null;

  @Field(() => Int, { description: "How many requests it is answering now." })
  inFlight!: number;
}

/** What the graph tells of a provider's health. */
export function toHealth({ circuit, latencyMs, uptime, inFlight }: ProviderHealth): ProviderHealthType {
  return {
    circuit,
    latencyMs: latencyMs === undefined ? null : Math.round(latencyMs),
    uptimePercent: uptime === undefined ? null : Math.round(uptime * 100),
    inFlight,
  };
}
