import "../../shared/schema/reflect.ts";
import { Field, ObjectType } from "type-graphql";
import type { ContractName as Name, Network } from "../../../src/chain/networks.ts";
import { defineEnum } from "../../shared/schema/enumeration.ts";
import { AddressScalar } from "../../shared/schema/scalars.ts";

/** The names of a network's contracts. */
export const ContractName = defineEnum<Name>("ContractName", "The name of a network's contract.", {
  flow: "The log of the storage network.",
  mine: "Rewards for storage mining.",
  reward: "The distribution of rewards.",
  computeLedger: "The payment ledger of the direct path.",
  computeInference: "The registry of inference services, and the sub-accounts of the direct path.",
  computeFineTuning: "Fine-tuning services.",
  computeFineTuningV10: "Fine-tuning services, version 1.0.",
  daEntrance: "The entry contract of data availability.",
  daSigners: "The precompile of data availability signers.",
  wrappedBase: "The precompile that mints and burns the wrapped token.",
  agentNft: "Agent tokens (ERC-7857).",
  agentMarket: "The market of agent tokens.",
  routerVault: "The vault that receives deposits for this router.",
});

/** A contract of a network. */
@ObjectType("Contract", {
  description: "A contract of a network.",
  simpleResolvers: true,
})
export class ContractType {
  @Field(() => ContractName, { description: "The name of the contract." })
  name!: Name;

  @Field(() => AddressScalar, {
    nullable: true,
    description: "The contract's address. Null if the network has none.",
  })
  address!: string | null;

  @Field(() => String, {
    nullable: true,
    description: "A note, such as why the network has no such contract. Null if there is none.",
  })
  note!: string | null;
}

/** A contract of a network by its name. */
export function toContract(network: Network, name: Name): ContractType {
  return { name, ...network.contracts[name] };
}
