import "../../shared/schema/reflect.ts";
import { Field, Int, ObjectType } from "type-graphql";
import type { EndpointState, EndpointStatus } from "../../../src/chain/rpc/rpc-endpoint.ts";
import { defineEnum } from "../../shared/schema/enumeration.ts";
import { DateTimeScalar } from "../../shared/schema/scalars.ts";

const RpcEndpointState = defineEnum<EndpointState>("RpcEndpointState", "What is known of an RPC endpoint.", {
  unchecked: "Not requested yet.",
  ready: "It answers, and with the network's chain id.",
  unreachable: "The last try failed; it is tried again.",
  wrong_chain: "It is of another chain, and nothing is read from it.",
});

/** How an RPC endpoint of ours fares. */
@ObjectType("RpcEndpoint", {
  description: "How one of the RPC endpoints fares that this process reads the chain by.",
  simpleResolvers: true,
})
export class RpcEndpointType implements EndpointStatus {
  @Field(() => RpcEndpointState, { description: "What is known of it." })
  state!: EndpointState;

  @Field(() => Int, {
    nullable: true,
    description: "The chain id that it last returned. Null before the first.",
  })
  chainId!: number | undefined;

  @Field(() => DateTimeScalar, {
    nullable: true,
    description: "Since when this is known, null before the first try.",
  })
  checkedAt!: Date | undefined;
}
