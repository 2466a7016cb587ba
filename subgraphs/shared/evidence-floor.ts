import type { EvidenceFloor } from "../../src/keys/api-keys/key-settings.ts";
import { defineEnum } from "./schema/enumeration.ts";

/** The proof that is required of a provider. */
export const ProviderEvidence = defineEnum<EvidenceFloor>(
  "ProviderEvidence",
  "The proof that is required of a provider.",
  {
    bound: "The provider's acknowledged signer signed the answer.",
    attested: "Like `BOUND`, and the attestation of the provider's enclave passed every check.",
  },
);
