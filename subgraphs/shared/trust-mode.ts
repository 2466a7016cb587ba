import type { TrustMode as Trust } from "../../src/inference/providers/provider.ts";
import { defineEnum } from "./schema/enumeration.ts";

/** The level of trust in a provider. */
export const TrustMode = defineEnum<Trust>("TrustMode", "The level of trust in a provider.", {
  standard: "No verification.",
  verified: "The provider's answers can be verified.",
  private: "Like `VERIFIED`, and requests are readable only inside the provider's enclave.",
});
