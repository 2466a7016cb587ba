import { expect, test } from "vitest";
import { checksOf } from "../../../gateway/dashboard/app/pages/requests/evidence-checks.ts";
import { attestationText } from "../../../gateway/dashboard/app/parts/value/attestation.ts";
import { serviceText } from "../../../gateway/dashboard/app/parts/value/service-names.ts";

test("a provider's attestation has one text: whether it passed, was not checked, or cannot be verified at all", () => {
  const text = (attestation: { readonly passed: boolean } | null, verifiability = "TeeML") =>
    attestationText({ verifiability, attestation });
  expect(text({ passed: true })).toBe("TeeML, attested");
  expect(text({ passed: false })).toBe("TeeML, not attested");
  expect(text(null)).toBe("TeeML, attestation not checked");
  expect(text({ passed: false }, "")).toBe("not verifiable");
});

test("of a request's checks only the attestation is one that a stand-in cannot pass, and it has no effect on the charge", () => {
  const evidence = { verdict: "VERIFIED", signer: "0x1", requestBound: true, responseBound: false };
  const attestation = { passed: false, quote: null, failures: ["Attestation failed: no quote."] };
  const checks = checksOf(evidence, attestation);
  expect(checks.filter(({ isExpected }) => isExpected)).toEqual([
    {
      title: "Provider attestation (does not affect the charge)",
      result: "FAILED",
      meaning: "Attestation failed: no quote.",
      isExpected: true,
    },
  ]);
  expect(checks.map(({ result }) => result)).toEqual(["PASSED", "FAILED", "PASSED", "FAILED"]);
});

test("a type of service that the page does not know is named as the graph names it", () => {
  expect(serviceText("RERANK")).toBe("Rerank");
  expect(serviceText("TEXT_TO_VIDEO")).toBe("TEXT_TO_VIDEO");
  expect(serviceText("toString")).toBe("toString");
});
