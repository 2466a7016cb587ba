import "../../shared/schema/reflect.ts";
import { Field, ObjectType } from "type-graphql";
import type { Evidence, Verdict } from "../../../src/inference/evidence/tee-signature.ts";
import type { Hex } from "../../../src/kernel/text/hex.ts";
import { defineEnum } from "../../shared/schema/enumeration.ts";
import { AddressScalar, DateTimeScalar, HexScalar } from "../../shared/schema/scalars.ts";

/** The result of verifying a signature. */
const EvidenceVerdict = defineEnum<Verdict>(
  "EvidenceVerdict",
  "The result of verifying a provider's signature.",
  {
    verified: "Signed by the signer that the network acknowledged.",
    other_signer: "Signed by a different signer.",
    forged: "The signature does not match its text or its claimed signer.",
    malformed: "Not a valid signature.",
    missing: "The provider has no signature for this answer.",
    unreachable: "The signature did not arrive in time.",
    not_acknowledged: "The network acknowledged no signer of this provider.",
  },
);

/** A provider's proof of an answer. */
@ObjectType("Evidence", {
  description: "A provider's proof of an answer, as found when it was verified.",
  simpleResolvers: true,
})
export class EvidenceType {
  @Field(() => Boolean, { description: "Whether the proof is valid." })
  verified!: boolean;

  @Field(() => EvidenceVerdict, { description: "The result of the verification." })
  verdict!: Verdict;

  @Field(() => AddressScalar, { description: "The address of the provider." })
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
    description: "The signer that the network acknowledged. Null when it acknowledged none.",
  })
  expectedSigner!: Hex | undefined;

  @Field(() => DateTimeScalar, { description: "When the proof was verified." })
  checkedAt!: Date;
}

/** Maps evidence to its GraphQL type. */
export function toEvidence(evidence: Evidence): EvidenceType {
  return { ...evidence, verified: evidence.verdict === "verified" };
}
