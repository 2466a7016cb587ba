import { type Bundle, readBundle } from "./bundle.ts";
import { type Check, check, type Finding, notChecked } from "./check.ts";
import { checkProviderSignature, checkSignedAnswer, checkSignedRequest } from "./provider-checks.ts";
import { checkBody, checkCheckpoint, checkInclusion, checkKey, checkSignature } from "./receipt-checks.ts";

export type { Check } from "./check.ts";

/** What is verified. Only the bundle is needed; what else is missing is not checked. */
export type Files = {
  /** The JSON of `GET /v1/receipts/{id}`. */
  readonly bundle: string;
  /** The body of the request, exactly as it was sent. */
  readonly request?: Uint8Array | undefined;
  /** The body of the answer, exactly as it was received. */
  readonly answer?: Uint8Array | undefined;
  /** The router's public key, known from elsewhere than the bundle: `name+id+base64`. */
  readonly key?: string | undefined;
};

/** Verifies the quote of an attestation. Only the command has one: it needs Node's certificates. */
export type QuoteCheck = (bundle: Bundle) => Finding;

/** The result: whether no check failed, and every check. */
export type Verification = { readonly ok: boolean; readonly checks: readonly Check[] };

/** Verifies a receipt offline, from these files alone. Throws an `Error` for what is not a bundle. */
export async function verify(files: Files, checkQuote: QuoteCheck = onlyInCommand): Promise<Verification> {
  const { request, answer, key } = files;
  const bundle = readBundle(files.bundle);
  const checks = await Promise.all([
    check("key", "The router's key", () => checkKey(bundle, key)),
    check("signature", "The router's signature of the receipt", () => checkSignature(bundle)),
    check("request_body", "Your request", () => checkBody(bundle, "received", request)),
    check("answer_body", "The answer that you received", () => checkBody(bundle, "returned", answer)),
    check("checkpoint", "The signature of the log's head", () => checkCheckpoint(bundle)),
    check("inclusion", "The receipt in the log", () => checkInclusion(bundle)),
    check("provider_signature", "The provider's signature", () => checkProviderSignature(bundle)),
    check("provider_answer", "The answer that the provider signed", () => checkSignedAnswer(bundle, answer)),
    check("provider_request", "The request that the provider signed", () => checkSignedRequest(bundle)),
    check("quote", "The quote of the provider's enclave", () =>
      bundle.attestation ? checkQuote(bundle) : notChecked("The bundle has no attestation."),
    ),
  ]);
  return { ok: checks.every(({ result }) => result !== "failed"), checks };
}

function onlyInCommand(): Finding {
  return notChecked("Quotes are verified by the command zerograph-verify, not in browsers.");
}
