import "../../shared/schema/reflect.ts";
import { Field, InputType, Int, ObjectType } from "type-graphql";
import type { AgentTransactionsService } from "../../../src/chain/agents/agent-transactions.service.ts";
import type { OracleType, TransferProof } from "../../../src/chain/agents/transfer-proof.ts";
import type { Hex } from "../../../src/kernel/text/hex.ts";
import { defineEnum } from "../../shared/schema/enumeration.ts";
import { Hash32Scalar, HexScalar } from "../../shared/schema/scalars.ts";

export const OracleKind = defineEnum<OracleType>("OracleType", "Who proves that a key was sealed.", {
  tee: "An enclave, by its signature.",
  zkp: "A proof in zero knowledge, which no contract checks yet.",
});

/** What the receiver proves. */
@InputType("AccessProofInput", {
  description: "That the receiver, or who signs for it, can get at a piece of data.",
})
export class AccessProofInput {
  @Field(() => Hash32Scalar, { description: "The data's hash." })
  dataHash!: Hex;

  @Field(() => HexScalar, {
    defaultValue: "0x",
    description: "The public key to seal for; none for the receiver's own.",
  })
  targetPubkey!: Hex;

  @Field(() => HexScalar, { description: "Counts once for each contract." })
  nonce!: Hex;

  @Field(() => HexScalar, { description: "The signature of the text that `accessProofTexts` gives." })
  proof!: Hex;
}

/** What the oracle proves. */
@InputType("OwnershipProofInput", { description: "That the oracle sealed the data's key for the receiver." })
export class OwnershipProofInput {
  @Field(() => OracleKind, { defaultValue: "tee", description: "Who proves it." })
  oracleType!: OracleType;

  @Field(() => Hash32Scalar, { description: "The data's hash." })
  dataHash!: Hex;

  @Field(() => HexScalar, { description: "The sealed key." })
  sealedKey!: Hex;

  @Field(() => HexScalar, {
    description: "The public key that it was sealed for: 64 bytes, where it is the receiver's own.",
  })
  targetPubkey!: Hex;

  @Field(() => HexScalar, { description: "Counts once for each contract, among all nonces." })
  nonce!: Hex;

  @Field(() => HexScalar, { description: "The oracle's signature." })
  proof!: Hex;
}

/** Both proofs for one piece of data. */
@InputType("TransferProofInput", { description: "Both proofs for one piece of a token's data." })
export class TransferProofInput implements TransferProof {
  @Field(() => AccessProofInput, { description: "The receiver's." })
  accessProof!: AccessProofInput;

  @Field(() => OwnershipProofInput, { description: "The oracle's." })
  ownershipProof!: OwnershipProofInput;
}

/** What a receiver signs. */
@ObjectType("AccessProofText", {
  description: "A text that the receiver of a token signs with `personal_sign`, for one piece of its data.",
  simpleResolvers: true,
})
export class AccessProofTextType implements AccessProofText {
  @Field(() => Int, { description: "The place of the data among the token's." })
  index!: number;

  @Field(() => Hash32Scalar, { description: "The data's hash." })
  dataHash!: Hex;

  @Field(() => HexScalar, { description: "The public key to seal for; none for the receiver's own." })
  targetPubkey!: Hex;

  @Field(() => HexScalar, { description: "A fresh nonce, which goes into the proof." })
  nonce!: Hex;

  @Field(() => String, { description: "The text: 66 characters, and not the bytes that they stand for." })
  text!: Hex;
}

type AccessProofText = Awaited<ReturnType<AgentTransactionsService["accessProofTexts"]>>[number];
