import "../../shared/schema/reflect.ts";
import { Field, ObjectType } from "type-graphql";
import { canonicalJson } from "../../../src/receipts/format/canonical-json.ts";
import type { SignedReceipt } from "../../../src/receipts/receipts.service.ts";
import { BigIntScalar, NeuronScalar } from "../../shared/schema/scalars.ts";

const COMMITMENT = "SHA-256(salt ‖ SHA-256(bytes)), hexadecimal. Null if there is none.";

/** The bytes of a request at four places. */
@ObjectType("ReceiptHashes", {
  description: "Commitments to the bodies of a request and its answer at four points.",
  simpleResolvers: true,
})
export class ReceiptHashesType {
  @Field(() => String, { nullable: true, description: `The client's request: ${COMMITMENT}` })
  received!: string | null;

  @Field(() => String, { nullable: true, description: `The request to the provider: ${COMMITMENT}` })
  forwarded!: string | null;

  @Field(() => String, { nullable: true, description: `The provider's answer: ${COMMITMENT}` })
  answered!: string | null;

  @Field(() => String, { nullable: true, description: `The answer to the client: ${COMMITMENT}` })
  returned!: string | null;
}

/** The proof that a receipt is in the log. */
@ObjectType("InclusionProof", {
  description: "The proof that a receipt is in the log, by RFC 6962.",
  simpleResolvers: true,
})
export class InclusionProofType {
  @Field(() => BigIntScalar, { description: "The number of receipts that the head covers." })
  treeSize!: bigint;

  @Field(() => [String], { description: "The hashes from the leaf to the root, hexadecimal." })
  hashes!: readonly string[];

  @Field(() => String, { description: "The head as a C2SP checkpoint, signed by the router." })
  checkpoint!: string;
}

/** The receipt of a request. */
@ObjectType("Receipt", {
  description:
    "The router's signed statement about a billed request. Each receipt is a leaf of an append-only log.",
  simpleResolvers: true,
})
export class ReceiptType {
  @Field(() => String, {
    description:
      "The signed text of the receipt: canonical JSON (RFC 8785) with everything that the receipt states.",
  })
  canonicalJson!: string;

  @Field(() => String, { description: "The Ed25519 signature of `canonicalJson`, hexadecimal." })
  signature!: string;

  @Field(() => String, { description: "The id of the key that signed the receipt." })
  keyId!: string;

  @Field(() => String, { description: "The router's key as a C2SP vkey." })
  publicKey!: string;

  @Field(() => NeuronScalar, { description: "The amount that was charged." })
  charge!: bigint;

  @Field(() => String, { description: "The salt of the commitments, hexadecimal." })
  salt!: string;

  @Field(() => ReceiptHashesType, { description: "Commitments to the bodies of the request." })
  hashes!: ReceiptHashesType;

  @Field(() => String, {
    nullable: true,
    description: "The hash of the leaf before this one. Null for the first.",
  })
  previousLeaf!: string | null;

  @Field(() => BigIntScalar, {
    nullable: true,
    description: "The index of the leaf, from 0. Null until a signed head covers the receipt.",
  })
  leafIndex!: bigint | null;

  @Field(() => InclusionProofType, {
    nullable: true,
    description: "The proof that the receipt is in the log. Null until a signed head covers the receipt.",
  })
  inclusionProof!: InclusionProofType | null;
}

/** The signed head of the log. */
@ObjectType("ReceiptTreeHead", {
  description: "The newest signed head of the log of receipts.",
  simpleResolvers: true,
})
export class ReceiptTreeHeadType {
  @Field(() => BigIntScalar, { description: "The number of receipts in the log." })
  size!: bigint;

  @Field(() => String, { description: "The head as a C2SP checkpoint, signed by the router." })
  checkpoint!: string;
}

/** The proof that the log only grew. */
@ObjectType("ConsistencyProof", {
  description: "The proof that the newest signed head continues an earlier one, by RFC 6962.",
  simpleResolvers: true,
})
export class ConsistencyProofType {
  @Field(() => BigIntScalar, { description: "The size of the earlier head." })
  from!: bigint;

  @Field(() => BigIntScalar, { description: "The size of the newest signed head." })
  size!: bigint;

  @Field(() => [String], { description: "The hashes that rebuild both roots, hexadecimal." })
  hashes!: readonly string[];

  @Field(() => String, { description: "The newest head as a C2SP checkpoint." })
  checkpoint!: string;
}

/** The log of receipts; its fields are resolved. */
@ObjectType("ReceiptLog", { description: "The append-only log of receipts." })
export class ReceiptLogType {
  @Field(() => String, { description: "The name of the log and of its key." })
  origin!: string;

  @Field(() => String, { description: "The id of the router's key, as in `Receipt.keyId`." })
  keyId!: string;

  @Field(() => String, { description: "The router's key as a C2SP vkey." })
  publicKey!: string;
}

/** Maps a receipt to its GraphQL type. */
export function toReceipt(signed: SignedReceipt): ReceiptType {
  const { receipt, signature, key_id: keyId, public_key: publicKey, log } = signed;
  return {
    canonicalJson: canonicalJson(receipt),
    ...{ signature, keyId, publicKey },
    charge: BigInt(receipt.charge),
    salt: receipt.salt,
    hashes: receipt.hashes,
    previousLeaf: receipt.previous_leaf,
    leafIndex: log ? BigInt(log.leaf_index) : null,
    inclusionProof: log
      ? { treeSize: BigInt(log.tree_size), hashes: log.inclusion_proof, checkpoint: log.checkpoint }
      : null,
  };
}
