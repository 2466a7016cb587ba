import "../../shared/schema/reflect.ts";
import { Field, InputType, ObjectType } from "type-graphql";
import type {
  AgentContractsService,
  AgentRole,
  NewIntelligentData,
} from "../../../src/chain/agents/contracts/agent-contracts.service.ts";
import type { Hex } from "../../../src/kernel/text/hex.ts";
import { defineEnum } from "../../shared/schema/enumeration.ts";
import { AddressScalar, BigIntScalar, Hash32Scalar } from "../../shared/schema/scalars.ts";
import { OracleKind } from "./agent-proof.type.ts";

type AgentVerifier = Awaited<ReturnType<AgentContractsService["verifier"]>>;

export const AgentRoleEnum = defineEnum<AgentRole>("AgentRole", "The roles of an AgentNFT contract.", {
  default_admin: "`DEFAULT_ADMIN_ROLE`: grants and revokes every role.",
  admin: "`ADMIN_ROLE`: withdraws fees, and grants and revokes `MINTER_ROLE`.",
  operator: "`OPERATOR_ROLE`: pauses, and sets the mint fee, the verifier and creators.",
  minter: "`MINTER_ROLE`: mints without a fee.",
});

/** An oracle that the verifier accepts. */
@ObjectType("RegisteredOracle", {
  description: "The oracle that a verifier accepts for one type of proof.",
  simpleResolvers: true,
})
export class RegisteredOracleType {
  @Field(() => OracleKind, { description: "The type of the oracle's proofs." })
  oracleType!: AgentVerifier["oracles"][number]["oracleType"];

  @Field(() => AddressScalar, { description: "The contract that verifies the oracle's proofs." })
  contract!: Hex;

  @Field(() => AddressScalar, {
    nullable: true,
    description: "The address whose signatures that contract accepts. Null for a type without one.",
  })
  oracle!: Hex | null;
}

/** The verifier of transfer proofs. */
@ObjectType("AgentVerifier", {
  description: "The contract that verifies transfer proofs, in its current on-chain state.",
  simpleResolvers: true,
})
export class AgentVerifierType implements AgentVerifier {
  @Field(() => AddressScalar, { description: "The verifier's address." })
  address!: Hex;

  @Field(() => BigIntScalar, {
    description:
      "`maxProofAge`: seconds after which anyone may delete the record of a used nonce, so that its proof is valid " +
      "again.",
  })
  maxProofAgeSeconds!: bigint;

  @Field(() => Boolean, {
    description: "Whether the verifier is paused: no token can be transferred meanwhile.",
  })
  paused!: boolean;

  @Field(() => [RegisteredOracleType], {
    description: "The oracles that the verifier accepts, at most one per type.",
  })
  oracles!: readonly RegisteredOracleType[];
}

/** A piece of data of a new token. */
@InputType("IntelligentDataInput", { description: "A piece of a new token's data." })
export class IntelligentDataInput implements NewIntelligentData {
  @Field(() => String, { description: "The description of the data." })
  description!: string;

  @Field(() => Hash32Scalar, {
    description: "The hash of the ciphertext: the merkle root of the stored file.",
  })
  dataHash!: Hex;
}
