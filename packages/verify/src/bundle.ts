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
 * for what is not a bundle at all, or of another version, and for one in which a member is repeated: another program
 * might read the other one.
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
  if (membersIn(text) !== membersOf(value)) throw new Error("The bundle has a repeated member.");
  const { version } = value.receipt as Record<string, unknown>;
  if (version !== RECEIPT_VERSION)
    throw new Error(`The receipt has the version ${String(version)}; this program reads ${RECEIPT_VERSION}.`);
  return value as Bundle;
}

/** How many members the objects of a JSON text are written with: its colons outside of strings. */
function membersIn(json: string): number {
  let members = 0;
  let isInString = false;
  for (let at = 0; at < json.length; at++) {
    const character = json[at];
    if (isInString && character === "\\") at++;
    else if (character === '"') isInString = !isInString;
    else if (!isInString && character === ":") members++;
  }
  return members;
}

/** How many members the objects of a value have. */
function membersOf(value: unknown): number {
  const waiting: unknown[] = [value];
  let members = 0;
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    if (typeof next !== "object" || next === null) continue;
    const values = Object.values(next);
    if (!Array.isArray(next)) members += values.length;
    for (const child of values) waiting.push(child);
  }
  return members;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
