import "../../shared/schema/reflect.ts";
import { ArgsType, Field, InputType } from "type-graphql";
import type { TokenFilter } from "../../../src/chain/agents/tokens/agent-tokens.service.ts";
import type { Hex } from "../../../src/kernel/text/hex.ts";
import { PageArgs } from "../../shared/schema/connection.ts";
import { AddressScalar } from "../../shared/schema/scalars.ts";

/** The filter of a list of agent tokens. */
@InputType("AgentTokenFilterInput", {
  description: "Lists only agent tokens that meet every given condition.",
})
class AgentTokenFilterInput {
  @Field(() => AddressScalar, { nullable: true, description: "Tokens of this contract." })
  contract!: Hex | null | undefined;

  @Field(() => AddressScalar, { nullable: true, description: "Tokens that this account owns." })
  owner!: Hex | null | undefined;

  @Field(() => AddressScalar, { nullable: true, description: "Tokens that this account created." })
  creator!: Hex | null | undefined;
}

/** The arguments of a list of agent tokens. */
@ArgsType()
export class AgentTokensArgs extends PageArgs {
  @Field(() => AgentTokenFilterInput, { nullable: true, description: "Which tokens to list. Default: all." })
  filter!: AgentTokenFilterInput | null | undefined;
}

/** Maps the filter of a client. */
export function toTokenFilter(filter: AgentTokenFilterInput | null | undefined): TokenFilter {
  return {
    contract: filter?.contract ?? undefined,
    owner: filter?.owner ?? undefined,
    creator: filter?.creator ?? undefined,
  };
}
