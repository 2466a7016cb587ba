import { type Hex, recoverMessageAddress } from "viem";
import { z } from "zod";
import { isAddress, lowerHex } from "../../kernel/text/hex.ts";
import { isStorable } from "../../kernel/text/storable.ts";
import type { Provider } from "../providers/provider.ts";
import { type AnswerHashes, bindingOf, readSignedText, type TextForm } from "./signed-text.ts";

/**
 * The result of checking a provider's signature. `verified`: the acknowledged signer signed a hash of this answer.
 * `unbound`: it signed, but a hash of other bytes. `unsupported_form`: it signed a text whose hashes cannot be compared.
 * `other_signer`: another signer did. `forged`: it does not match its text or the claimed signer. `malformed`: it is not
 * a valid signature. `missing`: the provider has none for this answer, or the answer has no id. `unreachable`: it did
 * not arrive in time. `not_acknowledged`: the network acknowledges no signer of this provider.
 */
export const VERDICTS = [
  "verified",
  "unbound",
  "unsupported_form",
  "other_signer",
  "forged",
  "malformed",
  "missing",
  "unreachable",
  "not_acknowledged",
] as const;
export type Verdict = (typeof VERDICTS)[number];

/** A provider's signature, with the verdict and the recovered signer. */
export type JudgedSignature = {
  readonly verdict: Verdict;
  /** The signed text: hashes of the request and of the answer, as the provider saw them. */
  readonly text: string | undefined;
  readonly signature: Hex | undefined;
  /** The address recovered from the signature, in lower case. */
  readonly signer: Hex | undefined;
  /** The form of the signed text; undefined if it was not compared, or is not supported. */
  readonly form: TextForm | undefined;
  /** Whether the text has the hash of the request as it was sent. Undefined if it was not compared. */
  readonly requestBound: boolean | undefined;
  /** Whether the text has the hash of the answer as it was received. Undefined if it was not compared. */
  readonly responseBound: boolean | undefined;
};

/** The part of the evidence that decides what an answer proves. */
export type EvidenceResult = Pick<JudgedSignature, "verdict" | "form" | "requestBound" | "responseBound">;

/** The stored evidence for an answer. */
export type Evidence = JudgedSignature & {
  readonly requestId: string;
  readonly provider: Hex;
  /** The provider's own id of the answer. */
  readonly answerId: string | undefined;
  /** The expected signer; undefined when the network acknowledged none. */
  readonly expectedSigner: Hex | undefined;
  /** SHA-256 of the bodies as they were sent and received; undefined if they were not hashed. */
  readonly requestHash: string | undefined;
  readonly responseHash: string | undefined;
  readonly checkedAt: Date;
};

const MAX_TEXT = 4_096;

/** A broker's answer to `GET /v1/proxy/signature/{id}` (facts 2.1). */
const SignatureBody = z.object({
  text: z.string().min(1).max(MAX_TEXT).refine(isStorable),
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

/**
 * Verifies a signature response against the expected signer (EIP-191), and its text against the hashes of the exchange.
 * `known` is only awaited for a signature of the expected signer. Throws what hashing the images throws.
 */
export async function judgeSignature(
  body: Buffer,
  expected: Hex,
  known: Promise<AnswerHashes> | undefined,
): Promise<JudgedSignature> {
  const stated = readBody(body);
  if (!stated) return nothing("malformed");
  const { text, signing_address: claimed } = stated;
  const signature = stated.signature as Hex;
  const signer = await recover(text, signature);
  const judged = { ...UNCOMPARED, text, signature, signer };
  if (signer === undefined) return { ...judged, verdict: "forged" };
  if (signer !== expected) {
    const isHonest = claimed !== undefined && lowerHex(claimed) === signer;
    return { ...judged, verdict: isHonest ? "other_signer" : "forged" };
  }
  const signed = readSignedText(text);
  if (!signed) return { ...judged, verdict: "unsupported_form" };
  const binding = await bindingOf(signed, await known);
  return { ...judged, ...binding, verdict: binding.responseBound ? "verified" : "unbound" };
}

/** A verdict without a signature. */
export function nothing(verdict: Verdict): JudgedSignature {
  return { ...UNCOMPARED, verdict, text: undefined, signature: undefined, signer: undefined };
}

const UNCOMPARED = { form: undefined, requestBound: undefined, responseBound: undefined };

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
