import "../../shared/schema/reflect.ts";
import { Field, Int, ObjectType } from "type-graphql";
import type { EndpointState, EndpointStatus } from "../../../src/chain/rpc/rpc-endpoint.ts";
import { defineEnum } from "../../shared/schema/enumeration.ts";
import { DateTimeScalar } from "../../shared/schema/scalars.ts";
import { chainIdOrNull } from "../chain-id.ts";

const RpcEndpointState = defineEnum<EndpointState>("RpcEndpointState", "The state of an RPC endpoint.", {
  unchecked: "Not checked yet.",
  ready: "The endpoint responds with the network's chain id.",
  unreachable: "The last request failed; it is retried.",
  wrong_chain: "The endpoint serves another chain, and nothing is read from it.",
});

/** The state of an RPC endpoint. */
@ObjectType("RpcEndpoint", {
  description: "The state of an RPC endpoint that this process reads the chain from.",
  simpleResolvers: true,
})
export class RpcEndpointType implements Omit<EndpointStatus, "chainId"> {
  @Field(() => RpcEndpointState, { description: "The endpoint's state." })
  state!: EndpointState;

  @Field(() => Int, {
    nullable: true,
    description:
      "The chain id that the endpoint last returned. Null before the first response, and above 2^31 - 1.",
  })
  chainId!: number | null;

  @Field(() => DateTimeScalar, {
    nullable: true,
    description: "When the endpoint was last checked. Null before the first check.",
  })
  checkedAt!: Date | undefined;
}

/** Maps the status of an endpoint to its GraphQL type. */
export function toRpcEndpoint(status: EndpointStatus): RpcEndpointType {
  return { ...status, chainId: chainIdOrNull(status.chainId) };
}
