import type { Collateral } from "@phala/dcap-qvl";
import { readReport } from "../../../src/inference/attestation/attestation-report.ts";
import { type VerifiedQuote, verifyQuote } from "../../../src/inference/attestation/quote-verification.ts";
import { readReportData } from "../../../src/inference/attestation/report-data.ts";
import type { Hex } from "../../../src/kernel/text/hex.ts";
import type { Bundle } from "./bundle.ts";
import { type Finding, failed, notChecked, passed } from "./check.ts";

/** Verifies the quote under Intel's root at the time of the router's check, and that it names the answer's signer. */
export function checkQuote({ receipt, attestation }: Bundle): Finding {
  if (!attestation) return notChecked("The bundle has no attestation.");
  const { report, collateral, checked_at: checkedAt } = attestation;
  const read = readReport(Buffer.from(typeof report === "string" ? report : JSON.stringify(report)));
  if (!read) return failed("The attestation report is malformed.");
  let quote: VerifiedQuote;
  try {
    quote = verifyQuote(read.quote, collateral as Collateral, new Date(checkedAt));
  } catch (error) {
    return failed(`The quote does not verify: ${error instanceof Error ? error.message : "malformed"}.`);
  }
  const signer = receipt.evidence?.signer?.toLowerCase() as Hex | undefined;
  const data = readReportData(Buffer.from(quote.report.reportData), { signer, tlsKeyHash: read.tlsKeyHash });
  if (!data) return failed("The quote is genuine, but names no signer in a known layout.");
  if (signer === undefined)
    return notChecked(`The quote is genuine and names ${data.signer}; the receipt names no signer.`);
  if (data.signer !== signer) return failed(`The quote names ${data.signer}, the receipt ${signer}.`);
  return passed(
    `Intel's status of the machine at ${checkedAt} was ${quote.status}, and the quote names ${signer}.`,
  );
}
