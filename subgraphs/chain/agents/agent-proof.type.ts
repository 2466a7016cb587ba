import "../../shared/schema/reflect.ts";
import { Field, InputType, Int, ObjectType } from "type-graphql";
import type { AgentTransactionsService } from "../../../src/chain/agents/contracts/agent-transactions.service.ts";
import type { OracleType, TransferProof } from "../../../src/chain/agents/contracts/transfer-proof.ts";
import type { Hex } from "../../../src/kernel/text/hex.ts";
import { defineEnum } from "../../shared/schema/enumeration.ts";
import { Hash32Scalar, HexScalar } from "../../shared/schema/scalars.ts";

export const OracleKind = defineEnum<OracleType>("OracleType", "The type of proof that a key was sealed.", {
  tee: "A signature of an enclave (TEE).",
  zkp: "A zero-knowledge proof. No contract verifies it yet.",
});

/** The receiver's proof. */
@InputType("AccessProofInput", {
  description: "The proof that the receiver, or its assistant, can access a piece of data.",
})
export class AccessProofInput {
  @Field(() => Hash32Scalar, { description: "The hash of the data." })
  dataHash!: Hex;

  @Field(() => HexScalar, {
    defaultValue: "0x",
    description: "The public key to seal for. Empty for the receiver's own key.",
  })
  targetPubkey!: Hex;

  @Field(() => HexScalar, {
    description:
      "The nonce in the signed text. A contract accepts a nonce once, across both kinds of proofs.",
  })
  nonce!: Hex;

  @Field(() => HexScalar, { description: "The signature of the text returned by `accessProofTexts`." })
  proof!: Hex;
}

/** The oracle's proof. */
@InputType("OwnershipProofInput", {
  description: "The proof that the oracle sealed the data's key for the receiver.",
})
export class OwnershipProofInput {
  @Field(() => OracleKind, { defaultValue: "tee", description: "The type of the proof." })
  oracleType!: OracleType;

  @Field(() => Hash32Scalar, { description: "The hash of the data." })
  dataHash!: Hex;

  @Field(() => HexScalar, { description: "The sealed key." })
  sealedKey!: Hex;

  @Field(() => HexScalar, {
    description:
      "The public key that the key was sealed for, 64 bytes if it is the receiver's own. Unlike in the access proof, it is never empty.",
  })
  targetPubkey!: Hex;

  @Field(() => HexScalar, {
    description: "A nonce that can be used once per contract, across both kinds of proofs.",
  })
  nonce!: Hex;

  @Field(() => HexScalar, { description: "The oracle's signature." })
  proof!: Hex;
}

/** Both proofs for one piece of data. */
@InputType("TransferProofInput", { description: "Both proofs for one piece of a token's data." })
export class TransferProofInput implements TransferProof {
  @Field(() => AccessProofInput, { description: "The receiver's proof." })
  accessProof!: AccessProofInput;

  @Field(() => OwnershipProofInput, { description: "The oracle's proof." })
  ownershipProof!: OwnershipProofInput;
}

/** A text for the receiver to sign. */
@ObjectType("AccessProofText", {
  description:
    "A text for the receiver of a token to sign with `personal_sign`, for one piece of the token's data.",
  simpleResolvers: true,
})
export class AccessProofTextType implements AccessProofText {
  @Field(() => Int, { description: "0-based index of the data within the token." })
  index!: number;

  @Field(() => Hash32Scalar, { description: "The hash of the data." })
  dataHash!: Hex;

  @Field(() => HexScalar, { description: "The public key to seal for. Empty for the receiver's own key." })
  targetPubkey!: Hex;

  @Field(() => HexScalar, { description: "A fresh nonce, to be used in the proof." })
  nonce!: Hex;

  @Field(() => String, {
    description: "The text to sign: its 66 characters, not the bytes that they encode.",
  })
  text!: Hex;
}

type AccessProofText = Awaited<ReturnType<AgentTransactionsService["accessProofTexts"]>>[number];
