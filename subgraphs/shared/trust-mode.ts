import type { TrustMode as Trust } from "../../src/inference/providers/provider.ts";
import { defineEnum } from "./schema/enumeration.ts";

/** How far a provider can be trusted. */
export const TrustMode = defineEnum<Trust>("TrustMode", "How far a provider can be trusted.", {
  standard: "Nothing vouches for it.",
  verified: "Its answers can be verified.",
  private: "What is sent to it is private to its enclave, too.",
});
