import "../../shared/schema/reflect.ts";
import { Field, ObjectType } from "type-graphql";
import type { Evidence, Verdict } from "../../../src/inference/evidence/tee-signature.ts";
import type { Hex } from "../../../src/kernel/text/hex.ts";
import { defineEnum } from "../../shared/schema/enumeration.ts";
import { AddressScalar, DateTimeScalar, HexScalar } from "../../shared/schema/scalars.ts";

/** What a look at a signature came to. */
const EvidenceVerdict = defineEnum<Verdict>(
  "EvidenceVerdict",
  "What a look at a provider's signature came to.",
  {
    verified: "Signed by the signer that the network acknowledged.",
    other_signer: "Signed by a different signer.",
    forged: "It does not belong to its text, or to who claims it.",
    malformed: "It is no signature.",
    missing: "The provider has none for this answer.",
    unreachable: "It did not come in time.",
    not_acknowledged: "The network vouches for no signer of this provider.",
  },
);

/** The proof that a provider gave for an answer. */
@ObjectType("Evidence", {
  description: "The proof that a provider gave for an answer, as it was found when it was checked.",
  simpleResolvers: true,
})
export class EvidenceType {
  @Field(() => Boolean, { description: "Whether it holds." })
  verified!: boolean;

  @Field(() => EvidenceVerdict, { description: "What was found." })
  verdict!: Verdict;

  @Field(() => AddressScalar, { description: "The address of the provider." })
  provider!: Hex;

  @Field(() => String, { nullable: true, description: "The provider's own id of the answer, `ZG-Res-Key`." })
  answerId!: string | undefined;

  @Field(() => String, {
    nullable: true,
    description: "What was signed: hashes of the request and of the answer, as the provider had them.",
  })
  text!: string | undefined;

  @Field(() => HexScalar, { nullable: true, description: "The signature of the text, by EIP-191." })
  signature!: Hex | undefined;

  @Field(() => AddressScalar, { nullable: true, description: "The address recovered from the signature." })
  signer!: Hex | undefined;

  @Field(() => AddressScalar, {
    nullable: true,
    description: "The signer that the network acknowledged. Null when it acknowledged none.",
  })
  expectedSigner!: Hex | undefined;

  @Field(() => DateTimeScalar, { description: "When it was checked." })
  checkedAt!: Date;
}

/** What the graph tells of an evidence. */
export function toEvidence(evidence: Evidence): EvidenceType {
  return { ...evidence, verified: evidence.verdict === "verified" };
}
