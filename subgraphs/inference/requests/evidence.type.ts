import "../../shared/schema/reflect.ts";
import { Field, ObjectType } from "type-graphql";
import type { TeeEvidence } from "../../../src/inference/billing/trace.ts";
import type { TextForm } from "../../../src/inference/evidence/signed-text.ts";
import type { Evidence, Verdict } from "../../../src/inference/evidence/tee-signature.ts";
import type { Hex } from "../../../src/kernel/text/hex.ts";
import { defineEnum } from "../../shared/schema/enumeration.ts";
import { AddressScalar, DateTimeScalar, HexScalar } from "../../shared/schema/scalars.ts";

/** The result of verifying a signature. */
export const EvidenceVerdict = defineEnum<Verdict>(
  "EvidenceVerdict",
  "The result of verifying a provider's signature.",
  {
    verified: "The acknowledged signer signed a hash of this answer, as it was received.",
    unbound: "The acknowledged signer signed, but not this answer: the signed hash is of other bytes.",
    unsupported_form: "The acknowledged signer signed a text whose hashes cannot be compared.",
    other_signer: "Signed by a different signer.",
    forged: "The signature does not match its text or its claimed signer.",
    malformed: "Not a valid signature.",
    missing: "The provider has no signature for this answer.",
    unreachable: "The signature did not arrive in time.",
    not_acknowledged: "The network acknowledged no signer of this provider.",
  },
);

/** The form of a signed text. */
export const EvidenceForm = defineEnum<TextForm>(
  "EvidenceForm",
  "The form of the text that a provider signs.",
  {
    hashes: "The hashes of the request and of the answer.",
    image_hashes: "The hash of the request, and of each image.",
    centralized:
      "The hashes of the request and of the answer, and the company that runs the model with the fingerprint of its certificate.",
    named_model: "The name of the model, and the hashes of the request and of the answer.",
  },
);

/** A provider's proof of an answer. */
@ObjectType("Evidence", {
  description: "A provider's proof of an answer, as found when it was verified.",
  simpleResolvers: true,
})
export class EvidenceType {
  @Field(() => Boolean, { description: "Whether the acknowledged signer signed this answer." })
  verified!: boolean;

  @Field(() => EvidenceVerdict, { description: "The result of the verification." })
  verdict!: Verdict;

  @Field(() => EvidenceForm, {
    nullable: true,
    description: "The form of the signed text. Null if it was not compared, or is not supported.",
  })
  form!: TextForm | undefined;

  @Field(() => Boolean, {
    nullable: true,
    description:
      "Whether the text contains the hash of the request as zerograph sent it. Often false for a valid signature, because providers sign the request as they forward it to the model. Null if it was not compared.",
  })
  requestBound!: boolean | undefined;

  @Field(() => Boolean, {
    nullable: true,
    description:
      "Whether the text contains the hash of the answer as zerograph received it. Null if it was not compared, as in evidence from earlier versions, which checked only the signer.",
  })
  responseBound!: boolean | undefined;

  @Field(() => String, {
    nullable: true,
    description:
      "The SHA-256 of the request's body as it was sent to the provider, hexadecimal without `0x`. Null if it was not hashed.",
  })
  requestHash!: string | undefined;

  @Field(() => String, {
    nullable: true,
    description:
      "The SHA-256 of the answer's body as it was received, hexadecimal without `0x`. Null if it was not hashed.",
  })
  responseHash!: string | undefined;

  @Field(() => AddressScalar, {
    name: "providerAddress",
    simple: false,
    description: "The address of the provider.",
  })
  provider!: Hex;

  @Field(() => String, {
    nullable: true,
    description: "The provider's id of the answer, from its header `ZG-Res-Key`. Null if there is none.",
  })
  answerId!: string | undefined;

  @Field(() => String, {
    nullable: true,
    description:
      "The signed text: the provider's hashes of the request and the answer. Null without a signature.",
  })
  text!: string | undefined;

  @Field(() => HexScalar, {
    nullable: true,
    description: "The EIP-191 signature of the text. Null if there is none.",
  })
  signature!: Hex | undefined;

  @Field(() => AddressScalar, {
    nullable: true,
    description: "The address recovered from the signature. Null without a valid signature.",
  })
  signer!: Hex | undefined;

  @Field(() => AddressScalar, {
    nullable: true,
    description: "The signer that the network acknowledged. Null if it acknowledged none.",
  })
  expectedSigner!: Hex | undefined;

  @Field(() => DateTimeScalar, { description: "When the proof was verified." })
  checkedAt!: Date;
}

/** Maps evidence to its GraphQL type. */
export function toEvidence(evidence: Evidence): EvidenceType {
  return { ...evidence, verified: evidence.verdict === "verified" };
}

/** What a provider's signature proves. */
@ObjectType("TeeEvidence", {
  description: "What a provider's signature of an answer proves, as in the bill of the request.",
  simpleResolvers: true,
})
export class TeeEvidenceType {
  @Field(() => EvidenceVerdict, { description: "The result of the verification." })
  verdict!: Verdict;

  @Field(() => EvidenceForm, {
    nullable: true,
    description: "The form of the signed text. Null if it was not compared, or is not supported.",
  })
  form!: TextForm | null;

  @Field(() => Boolean, {
    nullable: true,
    description:
      "Whether the signed text contains the hash of the request as zerograph sent it. Null if it was not compared.",
  })
  requestBound!: boolean | null;

  @Field(() => Boolean, {
    nullable: true,
    description:
      "Whether the signed text contains the hash of the answer as zerograph received it. Null if it was not compared.",
  })
  responseBound!: boolean | null;
}

/** Maps the evidence of a bill to its GraphQL type. */
export function toTeeEvidence({
  verdict,
  form,
  request_bound,
  response_bound,
}: TeeEvidence): TeeEvidenceType {
  return {
    verdict,
    form: form ?? null,
    requestBound: request_bound ?? null,
    responseBound: response_bound ?? null,
  };
}
