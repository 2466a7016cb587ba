/** A check of an answer's evidence, for people. */
export type EvidenceCheck = {
  readonly title: string;
  readonly result: "PASSED" | "FAILED" | "NOT_CHECKED";
  /** What the result means. */
  readonly meaning: string;
  /** Whether a development network's stand-in for a provider cannot pass it. */
  readonly isExpected?: boolean;
};

type Evidence = {
  readonly verdict: string;
  readonly signer: string | null;
  readonly requestBound: boolean | null;
  readonly responseBound: boolean | null;
};

type Attestation = {
  readonly passed: boolean;
  readonly quote: string | null;
  readonly failures: readonly string[];
};

/** Why the signer was not established, by verdict; the other verdicts follow from a signature of the signer. */
const NO_SIGNER: Readonly<Record<string, string>> = {
  OTHER_SIGNER: "Another key signed than the one that the network acknowledged for this provider.",
  FORGED: "The signature does not belong to its text.",
  MALFORMED: "What the provider gave is not a signature.",
  MISSING: "The provider gave no signature of this answer.",
  UNREACHABLE: "The provider's signature did not arrive in time.",
  NOT_ACKNOWLEDGED:
    "The network has acknowledged no signer of this provider, so there is nothing to compare with.",
};

/** The checks of a request's evidence, in the order in which each relies on those before it. */
export function checksOf(
  evidence: Evidence | null,
  attestation: Attestation | null | undefined,
): readonly EvidenceCheck[] {
  const signed = evidence ? signatureChecks(evidence) : [];
  return [...signed, attestationCheck(attestation)];
}

function signatureChecks({ verdict, requestBound, responseBound }: Evidence): readonly EvidenceCheck[] {
  const fault = NO_SIGNER[verdict];
  const isOpen = verdict === "UNREACHABLE" || verdict === "NOT_ACKNOWLEDGED";
  return [
    {
      title: "The provider's signer",
      result: fault === undefined ? "PASSED" : isOpen ? "NOT_CHECKED" : "FAILED",
      meaning: fault ?? "The key that the network acknowledged for this provider made the signature.",
    },
    {
      title: "This answer",
      result: responseBound === null ? "NOT_CHECKED" : responseBound ? "PASSED" : "FAILED",
      meaning:
        responseBound === null
          ? "Without a signature of the signer whose text is understood, there is nothing to compare."
          : responseBound
            ? "The provider signed exactly the bytes that arrived here."
            : "The provider signed another answer than the one that arrived here.",
    },
    {
      title: "This request",
      result: requestBound ? "PASSED" : "NOT_CHECKED",
      meaning: requestBound
        ? "The provider signed exactly the request that it was sent."
        : "Not proved: providers may change a request before the model receives it, and sign the changed one.",
    },
  ];
}

function attestationCheck(attestation: Attestation | null | undefined): EvidenceCheck {
  const title = "Provider attestation (does not affect the charge)";
  if (!attestation)
    return {
      title,
      result: "NOT_CHECKED",
      meaning: "This gateway does not check the attestation of the provider's enclave.",
    };
  if (!attestation.passed)
    return { title, result: "FAILED", meaning: attestation.failures.join(" "), isExpected: true };
  return {
    title,
    result: "PASSED",
    meaning: `A genuine machine runs software that the operator accepts, and holds the signer's key (${attestation.quote}).`,
  };
}
