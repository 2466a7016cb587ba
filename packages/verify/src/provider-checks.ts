import { sha256 } from "@noble/hashes/sha2.js";
import { bytesToHex, hexToBytes, utf8ToBytes } from "@noble/hashes/utils.js";
import { recoverMessageAddress } from "viem/utils";
import { readSignedText, type SignedText } from "../../../src/inference/evidence/signed-text.ts";
import { decodeBase64 } from "../../../src/receipts/format/checkpoint.ts";
import { commitment, type Receipt, type ReceiptHashes } from "../../../src/receipts/format/receipt.ts";
import type { Bundle } from "./bundle.ts";
import { type Finding, failed, notChecked, passed } from "./check.ts";

const NONE = "The bundle has no signature of the provider.";
const REMOVED =
  "The receipt states that the provider signed its answer, but the bundle does not have the signature.";
type Images = readonly { readonly b64_json: string }[];

const OTHER_FORM = "The signed text has no hash that can be compared.";

/** Whether the provider's signature is of its text and of the signer in the receipt, and the receipt is of that text. */
export async function checkProviderSignature({
  receipt,
  provider_signature: given,
}: Bundle): Promise<Finding> {
  if (!given) return notChecked(receipt.evidence?.text ? REMOVED : NONE);
  const signature = given.signature as `0x${string}`;
  const signer = (await recoverMessageAddress({ message: given.text, signature })).toLowerCase();
  const { evidence } = receipt;
  if (!evidence?.signer || !evidence.text) return failed("The receipt names no signature of the provider.");
  if (signer !== evidence.signer.toLowerCase())
    return failed(`${signer} signed the text, or it was changed; the receipt names ${evidence.signer}.`);
  if (given.signing_address !== null && String(given.signing_address).toLowerCase() !== signer)
    return failed(`${signer} signed the text; the bundle names ${given.signing_address}.`);
  if (commit(receipt, sha256(utf8ToBytes(given.text))) !== evidence.text)
    return failed("The receipt is of another signed text.");
  return passed(`${signer} signed it. Compare that with the signer of ${receipt.provider} in the registry.`);
}

/** Whether the text has the hash of the answer that the provider gave, or of the images in the answer's file. */
export function checkSignedAnswer(bundle: Bundle, answer: Uint8Array | undefined): Finding {
  const signed = signedIn(bundle);
  if (!signed) return notChecked(bundle.provider_signature ? OTHER_FORM : NONE);
  const { response } = signed;
  const [only = ""] = response;
  if (response.length === 1 && isAt(bundle.receipt, "answered", only))
    return passed("The provider signed the answer that the receipt is of.");
  const images = answer && imageHashes(answer);
  if (images && images.length === response.length && images.every((hash, at) => hash === response[at]))
    return passed("The provider signed the images in the file.");
  // One image has the form of a whole answer; what is not counted in units is none.
  const mayBeImages = signed.form === "image_hashes" || bundle.receipt.usage.units !== null;
  if (mayBeImages && !answer)
    return notChecked("The provider signed images: the file with the answer is needed.");
  if (bundle.receipt.hashes.answered === null)
    return notChecked("The receipt has no hash of the provider's answer.");
  return failed("The provider signed another answer than the receipt is of.");
}

/** Whether the text has the hash of the request that the provider was sent. */
export function checkSignedRequest(bundle: Bundle): Finding {
  const signed = signedIn(bundle);
  if (!signed) return notChecked(bundle.provider_signature ? OTHER_FORM : NONE);
  if (bundle.receipt.hashes.forwarded === null)
    return notChecked("The receipt has no hash of the request that was sent to the provider.");
  return isAt(bundle.receipt, "forwarded", signed.request)
    ? passed("The provider signed the request that it was sent.")
    : notChecked(
        "The provider signed other bytes: providers may change a request before the model receives it.",
      );
}

function signedIn({ provider_signature: given }: Bundle): SignedText | undefined {
  return given ? readSignedText(given.text) : undefined;
}

/** The receipt's commitments are to hashes, and the signed text has hashes: no bytes are needed. */
function isAt(receipt: Receipt, place: keyof ReceiptHashes, hash: string): boolean {
  return receipt.hashes[place] === commit(receipt, hexToBytes(hash));
}

function commit({ salt }: Receipt, hash: Uint8Array): string {
  return commitment(hexToBytes(salt), hash);
}

/** SHA-256 of each decoded image of an answer or of a completed job; undefined if there are none. */
function imageHashes(answer: Uint8Array): readonly string[] | undefined {
  try {
    const { data } = JSON.parse(new TextDecoder().decode(answer)) as { data: Images | { data: Images } };
    const images = "data" in data ? data.data : data;
    return images.map(({ b64_json }) => bytesToHex(sha256(decodeBase64(b64_json) ?? new Uint8Array())));
  } catch {
    return undefined;
  }
}
