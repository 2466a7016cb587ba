import "../../shared/schema/reflect.ts";
import { Field, ObjectType } from "type-graphql";
import type { ContractName as Name, Network } from "../../../src/chain/networks.ts";
import { defineEnum } from "../../shared/schema/enumeration.ts";
import { AddressScalar } from "../../shared/schema/scalars.ts";

/** The contracts that a network lists. */
export const ContractName = defineEnum<Name>("ContractName", "The contracts that a network lists.", {
  flow: "The log of the storage network.",
  mine: "Rewards for storage mining.",
  reward: "The distribution of rewards.",
  computeLedger: "The payment ledger of the direct path.",
  computeInference: "The registry of inference services, and the sub-accounts of the direct path.",
  computeFineTuning: "Fine-tuning services.",
  computeFineTuningV10: "Fine-tuning services, version 1.0.",
  daEntrance: "The entrance of data availability.",
  daSigners: "The precompile of data availability's signers.",
  wrappedBase: "The precompile by which the wrapped token is minted and burned.",
  agentNft: "Agent tokens (ERC-7857).",
  agentMarket: "The market of agent tokens.",
  routerVault: "The vault that takes deposits for this router.",
});

/** A contract of a network. */
@ObjectType("Contract", {
  description: "A contract of a network.",
  simpleResolvers: true,
})
export class ContractType {
  @Field(() => ContractName, { description: "Which contract it is." })
  name!: Name;

  @Field(() => AddressScalar, { nullable: true, description: "Where it is, null where there is none." })
  address!: string | null;

  @Field(() => String, {
    nullable: true,
    description: "What is to be said of it, such as why there is none.",
  })
  note!: string | null;
}

/** A contract of a network by its name. */
export function toContract(network: Network, name: Name): ContractType {
  return { name, ...network.contracts[name] };
}
