import "../../shared/schema/reflect.ts";
import { Field, ObjectType } from "type-graphql";
import type { Attestation } from "../../../src/inference/attestation/appraisal.ts";
import { defineEnum } from "../../shared/schema/enumeration.ts";
import { DateTimeScalar } from "../../shared/schema/scalars.ts";

/** Whether the measured software is accepted. */
const MeasurementResult = defineEnum<Attestation["measurement"]>(
  "MeasurementResult",
  "Whether the software that an enclave measured is accepted.",
  {
    allowed: "The software is on the operator's list.",
    not_listed: "The software is not on the operator's list.",
    no_list: "The operator has no list.",
    unproven: "The software is not proved: the quote or the event log does not hold.",
  },
);

/** What a report says about a GPU. */
const GpuResult = defineEnum<Attestation["gpu"]>(
  "GpuResult",
  "What a report says about a GPU. NVIDIA's signatures are not verified.",
  {
    absent: "The report has no evidence of a GPU.",
    nonce_matches: "The evidence contains the nonce that was sent.",
    other_nonce: "The evidence contains another nonce.",
  },
);

/** The attestation of a provider's enclave. */
@ObjectType("Attestation", {
  description: "The attestation of a provider's enclave, as it was last appraised.",
  simpleResolvers: true,
})
export class AttestationType {
  @Field(() => Boolean, { description: "Whether every check passed." })
  passed!: boolean;

  @Field(() => String, {
    nullable: true,
    description: "Intel's status of the platform, such as `UpToDate`. Null if the quote does not verify.",
  })
  quote!: string | undefined;

  @Field(() => [String], { description: "Intel's advisories that apply to the platform." })
  advisories!: readonly string[];

  @Field(() => Boolean, { description: "Whether the quote names the signer that the network acknowledged." })
  signerBound!: boolean;

  @Field(() => Boolean, {
    nullable: true,
    description: "Whether the quote contains the nonce that was sent. Null if its layout has no nonce.",
  })
  fresh!: boolean | undefined;

  @Field(() => MeasurementResult, { description: "Whether the measured software is accepted." })
  measurement!: Attestation["measurement"];

  @Field(() => String, {
    nullable: true,
    description: "The SHA-256 of the composition that the enclave runs. Null if it is not proved.",
  })
  composeHash!: string | undefined;

  @Field(() => GpuResult, { description: "What the report says about a GPU." })
  gpu!: Attestation["gpu"];

  @Field(() => DateTimeScalar, {
    nullable: true,
    description: "When Intel issued the status. Null if the quote does not verify.",
  })
  collateralIssuedAt!: Date | undefined;

  @Field(() => DateTimeScalar, { description: "When the report was fetched and checked." })
  checkedAt!: Date;

  @Field(() => [String], { description: "Why the attestation did not pass, a sentence each." })
  failures!: readonly string[];
}

/** Maps an attestation to its GraphQL type. */
export function toAttestation({ isPassed, isFresh, ...rest }: Attestation): AttestationType {
  return { ...rest, passed: isPassed, fresh: isFresh };
}
