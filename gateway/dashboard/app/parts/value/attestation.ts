const TRUSTS: Readonly<Record<string, string>> = {
  STANDARD: "Standard",
  VERIFIED: "Verified",
  PRIVATE: "Private",
};

/** A trust mode of providers, in words. */
export function trustText(trustMode: string): string {
  return TRUSTS[trustMode] ?? trustMode;
}

type Attested = {
  /** How the answers of the provider can be verified, such as `TeeML`; empty if they cannot. */
  readonly verifiability: string;
  /** The result of the gateway's own check of the enclave; null if it was not checked. */
  readonly attestation: { readonly passed: boolean } | null;
};

/** What is known of a provider's enclave, the same on every page: `TeeML, attested`. */
export function attestationText({ verifiability, attestation }: Attested): string {
  if (verifiability === "") return "not verifiable";
  if (!attestation) return `${verifiability}, attestation not checked`;
  return `${verifiability}, ${attestation.passed ? "attested" : "not attested"}`;
}
