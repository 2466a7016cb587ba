import { type Hex, recoverMessageAddress } from "viem";
import { z } from "zod";
import { isAddress, lowerHex } from "../../kernel/text/hex.ts";
import type { Provider } from "../providers/provider.ts";

/**
 * The result of checking a provider's signature. `verified`: the acknowledged signer signed it. `other_signer`: another
 * signer did. `forged`: it does not belong to its text or to who claims it. `malformed`: it is no signature. `missing`:
 * the provider has none for this answer, or the answer has no id. `unreachable`: it did not come in time.
 * `not_acknowledged`: the network vouches for no signer of this provider.
 */
export type Verdict =
  | "verified"
  | "other_signer"
  | "forged"
  | "malformed"
  | "missing"
  | "unreachable"
  | "not_acknowledged";

/** A provider's signature, and who is seen to have made it. */
export type JudgedSignature = {
  readonly verdict: Verdict;
  /** What was signed: hashes of the request and of the answer, as the provider had them. */
  readonly text: string | undefined;
  readonly signature: Hex | undefined;
  /** The address recovered from the signature, in lower case. */
  readonly signer: Hex | undefined;
};

/** What is kept of the proof that a provider gave for an answer. */
export type Evidence = JudgedSignature & {
  readonly requestId: string;
  readonly provider: Hex;
  /** The provider's own id of the answer. */
  readonly answerId: string | undefined;
  /** The expected signer; undefined when the network acknowledged none. */
  readonly expectedSigner: Hex | undefined;
  readonly checkedAt: Date;
};

const MAX_TEXT = 4_096;

/** A broker's answer to `GET /v1/proxy/signature/{id}` (facts 2.1). */
const SignatureBody = z.object({
  text: z.string().min(1).max(MAX_TEXT),
  signature: z.string().regex(/^0x[0-9a-fA-F]{130}$/),
  signing_address: z.string().refine(isAddress).optional(),
  signing_algo: z.literal("ecdsa").optional(),
});

/**
 * Whose signature this provider's answers carry: the signer of its registry row, or, when a decentralized provider
 * keeps its model in an enclave apart (`TargetSeparated`), that enclave's. Undefined when the network acknowledged none.
 */
export function signerOf({ teeSigner, teeAcknowledged, profile }: Provider): Hex | undefined {
  if (!teeAcknowledged) return undefined;
  return profile.targetSigner ?? teeSigner;
}

/** Judges the body of a signature's answer by who should have signed (EIP-191). Never throws. */
export async function judgeSignature(body: Buffer, expected: Hex): Promise<JudgedSignature> {
  const stated = readBody(body);
  if (!stated) return nothing("malformed");
  const { text, signing_address: claimed } = stated;
  const signature = stated.signature as Hex;
  const signer = await recover(text, signature);
  if (signer === undefined) return { verdict: "forged", text, signature, signer };
  if (signer === expected) return { verdict: "verified", text, signature, signer };
  const isHonest = claimed !== undefined && lowerHex(claimed) === signer;
  return { verdict: isHonest ? "other_signer" : "forged", text, signature, signer };
}

/** A verdict without a signature. */
export function nothing(verdict: Verdict): JudgedSignature {
  return { verdict, text: undefined, signature: undefined, signer: undefined };
}

function readBody(body: Buffer): z.output<typeof SignatureBody> | undefined {
  try {
    return SignatureBody.safeParse(JSON.parse(body.toString("utf8"))).data;
  } catch {
    return undefined;
  }
}

async function recover(text: string, signature: Hex): Promise<Hex | undefined> {
  try {
    return lowerHex(await recoverMessageAddress({ message: text, signature }));
  } catch {
    return undefined;
  }
}
