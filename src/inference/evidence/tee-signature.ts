import { type Hex, recoverMessageAddress } from "viem";
import { z } from "zod";
import { isAddress, lowerHex } from "../../kernel/text/hex.ts";
import type { Provider } from "../providers/provider.ts";

/**
 * The result of checking a provider's signature. `verified`: the acknowledged signer signed it. `other_signer`: another
 * signer did. `forged`: it does not match its text or the claimed signer. `malformed`: it is not a valid signature.
 * `missing`: the provider has none for this answer, or the answer has no id. `unreachable`: it did not arrive in time.
 * `not_acknowledged`: the network acknowledges no signer of this provider.
 */
export type Verdict =
  | "verified"
  | "other_signer"
  | "forged"
  | "malformed"
  | "missing"
  | "unreachable"
  | "not_acknowledged";

/** A provider's signature, with the verdict and the recovered signer. */
export type JudgedSignature = {
  readonly verdict: Verdict;
  /** The signed text: hashes of the request and of the answer, as the provider saw them. */
  readonly text: string | undefined;
  readonly signature: Hex | undefined;
  /** The address recovered from the signature, in lower case. */
  readonly signer: Hex | undefined;
};

/** The stored evidence for an answer. */
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
 * The expected signer of this provider's answers: the signer of its registry row or, if a decentralized provider runs
 * its model in a separate enclave (`TargetSeparated`), that enclave's. Undefined if the network acknowledged none.
 */
export function signerOf({ teeSigner, teeAcknowledged, profile }: Provider): Hex | undefined {
  if (!teeAcknowledged) return undefined;
  return profile.targetSigner ?? teeSigner;
}

/** Verifies a signature response against the expected signer (EIP-191). Never throws. */
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
