import * as z from "zod";

/** The most pieces of data, and bytes of JSON: what the graph accepts of proofs. */
const MAX_PROOFS = 100;
export const MAX_PROOFS_LENGTH = 900_000;

const hex = z.string().regex(/^0x(?:[0-9A-Fa-f]{2})*$/, "must be 0x and hexadecimal digits");
const hash = z.string().regex(/^0x[0-9A-Fa-f]{64}$/, "must be 0x and 64 hexadecimal digits");
const accessProof = z.object({ dataHash: hash, targetPubkey: hex, nonce: hex, proof: hex });
const ownershipProof = z.object({
  oracleType: z
    .string()
    .transform((type) => type.toUpperCase())
    .pipe(z.enum(["TEE", "ZKP"])),
  dataHash: hash,
  sealedKey: hex,
  targetPubkey: hex,
  nonce: hex,
  proof: hex,
});
const proofs = z.array(z.object({ accessProof, ownershipProof })).max(MAX_PROOFS);

/** Both proofs for each piece of a token's data, as `TransferProofInput`. */
export type TransferProofs = z.output<typeof proofs>;

/** Reads proofs as an oracle returns them, in JSON. Throws a `SyntaxError` that says what is wrong with which member. */
export function readProofs(text: string): TransferProofs {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new SyntaxError("This is not JSON.");
  }
  const read = proofs.safeParse(value);
  if (read.success) return read.data;
  const [issue] = read.error.issues;
  const path = issue?.path.map(String).join(".");
  throw new SyntaxError(path ? `${path}: ${issue?.message}.` : "This is not a list of proofs.");
}

/** The same from the development network's oracle, whose types are in lower case. */
export function toProofs(given: readonly unknown[]): TransferProofs {
  return proofs.parse(given);
}
