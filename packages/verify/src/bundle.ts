import type { ReceiptBundle } from "../../../src/receipts/format/proof-bundle.ts";
import { RECEIPT_VERSION } from "../../../src/receipts/format/receipt.ts";

/** The attestation of the provider's enclave, with what it is verified against. */
type BundledAttestation = {
  /** The provider's report, as it published it: JSON, or its text. */
  readonly report: unknown;
  /** Intel's collateral for the quote. */
  readonly collateral: unknown;
  /** When the router checked it, ISO 8601. */
  readonly checked_at: string;
};

/** The JSON of `GET /v1/receipts/{id}`. */
export type Bundle = ReceiptBundle & { readonly attestation?: BundledAttestation | null };

const MEMBERS = ["receipt", "log"] as const;

/**
 * Reads a bundle. Only its outline is validated: each check meets what is malformed in its own part. Throws an `Error`
 * for what is not a bundle at all, or of another version.
 */
export function readBundle(text: string): Bundle {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new Error("The bundle is not JSON.");
  }
  if (!isObject(value)) throw new Error("The bundle is not a JSON object.");
  for (const name of MEMBERS) if (!isObject(value[name])) throw new Error(`The bundle has no ${name}.`);
  const { version } = value.receipt as Record<string, unknown>;
  if (version !== RECEIPT_VERSION)
    throw new Error(`The receipt has the version ${String(version)}; this program reads ${RECEIPT_VERSION}.`);
  return value as Bundle;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
