import "../../shared/schema/reflect.ts";
import { Field, ObjectType } from "type-graphql";
import type { Verdict } from "../../../src/chain/node/judgement.ts";
import type { PreflightCheck, PreflightRule as Rule } from "../../../src/chain/node/preflight.ts";
import { defineEnum } from "../../shared/schema/enumeration.ts";

const PreflightRule = defineEnum<Rule>("PreflightRule", "A rule for operating a node.", {
  initialised_once: "Both clients are initialised exactly once.",
  same_chain: "The execution client runs on the network's chain.",
  same_jwt_secret: "Both clients use the same JWT secret file.",
  execution_before_consensus: "The engine API listens before the consensus client is started.",
  not_while_syncing: "The consensus client does not run while the execution client is syncing.",
  near_the_head: "The node's height is within a few blocks of a public RPC.",
  validator_state: "The validator state file, which records what the key has signed, exists.",
  no_double_signing: "No other machine signs with the same validator key.",
  p2p_ports: "The P2P ports are reachable from the internet.",
  ethereum_rpc: "The Ethereum RPC for restaking serves the mainnet.",
  disk: "At least 4 TB of disk.",
  memory: "At least 64 GB of memory.",
  processors: "At least 8 CPUs.",
});

const PreflightVerdict = defineEnum<Verdict>("PreflightVerdict", "The verdict on a rule.", {
  pass: "The rule is met.",
  fail: "The rule is violated.",
  unknown: "The rule is not configured, or cannot be checked from this service.",
});

/** The verdict on a rule. */
@ObjectType("PreflightCheck", {
  description: "The verdict on a rule for operating a node.",
  simpleResolvers: true,
})
export class PreflightCheckType implements PreflightCheck {
  @Field(() => PreflightRule, { description: "The rule." })
  rule!: Rule;

  @Field(() => PreflightVerdict, { description: "The verdict." })
  verdict!: Verdict;

  @Field(() => String, { description: "The finding, in a sentence." })
  detail!: string;

  @Field(() => String, { nullable: true, description: "What to do next. Null if nothing." })
  next!: string | undefined;
}
