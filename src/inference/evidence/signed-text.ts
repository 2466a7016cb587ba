/**
 * The forms of text that a provider's enclave signs (facts: evidence 1 and 3). `hashes`: hash of the request, colon,
 * hash of the answer. `image_hashes`: hash of the request, colon, the hash of each image, separated by commas.
 * `centralized`: `hashes` with the type and identity of the provider that runs the model, and the fingerprint of its
 * certificate. `named_model`: the name of the model before `hashes`.
 */
export const TEXT_FORMS = ["hashes", "image_hashes", "centralized", "named_model"] as const;
export type TextForm = (typeof TEXT_FORMS)[number];

/** A signed text in one of the forms, with its hashes in lower case. */
export type SignedText = {
  readonly form: TextForm;
  readonly request: string;
  /** The hash of the answer, or of each of its images. */
  readonly response: readonly string[];
};

/** The hashes that a signed text is compared with; undefined if they are not known. */
export type AnswerHashes = {
  readonly request: string | undefined;
  readonly response: string | undefined;
  /** Hashes the decoded images of the answer, in order. Absent for an answer that has none. */
  readonly images?: (() => Promise<readonly string[]>) | undefined;
};

/** Which halves of a signed text are hashes of the bytes that were sent to the provider and received from it. */
export type Binding = {
  readonly form: TextForm;
  readonly requestBound: boolean;
  readonly responseBound: boolean;
};

const HASH = /^[0-9a-f]{64}$/i;
/** The forms for encrypted and for canonical JSON, whose hashes are not of the bytes on the wire. */
const OTHER_SCHEMES = "zg-sig-";
const MAX_HASHED_IMAGES = 64;

/**
 * Reads a signed text. Undefined if its form is not supported. Model names may contain colons, and a provider's identity
 * may too, so the hashes are read from the ends.
 */
export function readSignedText(text: string): SignedText | undefined {
  if (text.startsWith(OTHER_SCHEMES)) return undefined;
  const parts = text.split(":");
  const [first = "", second = "", ...rest] = parts;
  const images = second.split(",");
  if (HASH.test(first) && images.length <= MAX_HASHED_IMAGES && images.every((part) => HASH.test(part))) {
    const response = images.map(lower);
    if (rest.length === 0)
      return { form: images.length > 1 ? "image_hashes" : "hashes", request: lower(first), response };
    if (rest.length >= 3 && images.length === 1 && HASH.test(rest.at(-1) ?? ""))
      return { form: "centralized", request: lower(first), response };
  }
  const [request = "", response = ""] = parts.slice(-2);
  if (parts.length > 2 && HASH.test(request) && HASH.test(response))
    return { form: "named_model", request: lower(request), response: [lower(response)] };
  return undefined;
}

/**
 * Compares a signed text with the bytes of the exchange. The halves are separate: brokers sign a request as they forward
 * it, which may differ from what they received. A single image may be signed as the image or as the whole answer.
 */
export async function bindingOf(
  { form, request, response }: SignedText,
  known: AnswerHashes | undefined,
): Promise<Binding> {
  const requestBound = known?.request !== undefined && known.request === request;
  const isBody = response.length === 1 && known?.response !== undefined && known.response === response[0];
  return { form, requestBound, responseBound: isBody || (await areImages(response, known)) };
}

async function areImages(signed: readonly string[], known: AnswerHashes | undefined): Promise<boolean> {
  const images = await known?.images?.();
  if (!images || images.length !== signed.length || images.length === 0) return false;
  return images.every((hash, at) => hash === signed[at]);
}

function lower(hash: string): string {
  return hash.toLowerCase();
}
