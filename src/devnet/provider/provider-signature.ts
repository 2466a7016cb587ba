import { createHash } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";
import QuickLru from "quick-lru";
import { privateKeyToAccount } from "viem/accounts";
import type { Hex } from "../../kernel/text/hex.ts";
import type { EndpointAnswer } from "./endpoints/endpoint.ts";
import { type Rewrite, rewritten } from "./request-rewrites.ts";

/** How a stand-in provider signs. Absent fields mean a well-behaved provider. */
export type SigningBehaviour = {
  /** Delay before the response. */
  readonly delayMs?: number;
  /** Signs with this key; with `claimsOwn` the response still names the provider's own signer. */
  readonly key?: Hex;
  readonly claimsOwn?: boolean;
  /** A complete response instead of the signature. */
  readonly instead?: { readonly status: number; readonly body: string };
  /**
   * The form of the text, instead of the one of a decentralized broker. `whole`: the body of images, not each image.
   * `sealed` and `canonical`: hashes of something else than the bytes on the wire.
   */
  readonly form?: "whole" | "centralized" | "named_model" | "sealed" | "canonical";
  /** Signs the request as forwarded, after these changes. */
  readonly rewrites?: readonly Rewrite[];
  /**
   * Signs other bytes than it delivers: the answer serialized again, its content alone, the answer without its last
   * event, or an answer that was never given.
   */
  readonly signs?: "reserialized" | "content" | "prefix" | "another";
  /** Signs the hash in the header `X-Request-Hash` in place of its own. */
  readonly trustsRequestHash?: boolean;
  /** Returns the true signature of the answer with this id, whatever it is asked for. */
  readonly replays?: string;
};

/** An exchange to sign. */
type SignedExchange = {
  readonly request: Buffer;
  readonly headers: IncomingHttpHeaders;
  readonly answer: Exclude<EndpointAnswer, { kind: "refused" }>;
  readonly model: string;
};

const REMEMBERED_ANSWERS = 10_000;
const CERTIFICATE = "a stand-in certificate";
const UNRELATED = "an answer that was never given";

const sha256 = (bytes: Buffer | string) => createHash("sha256").update(bytes).digest("hex");

/**
 * Signs like a broker's enclave: for each response the hashes of the request as forwarded and of the response as
 * delivered, `GET /v1/proxy/signature/{id}` (facts: evidence 1). Only the newest responses are stored.
 */
export class AnswerSigner {
  readonly #key: Hex;
  readonly #texts = new QuickLru<string, string>({ maxSize: REMEMBERED_ANSWERS });

  constructor(key: Hex) {
    this.#key = key;
  }

  remember(answerId: string, exchange: SignedExchange, behaviour: SigningBehaviour = {}): void {
    this.#texts.set(answerId, signedText(exchange, behaviour));
  }

  /** The signature of a response as JSON text; undefined for an unknown response. */
  async signatureOf(answerId: string, behaviour: SigningBehaviour = {}): Promise<string | undefined> {
    const text = this.#texts.get(behaviour.replays ?? answerId);
    if (text === undefined) return undefined;
    const { key = this.#key, claimsOwn = false } = behaviour;
    const signature = await privateKeyToAccount(key).signMessage({ message: text });
    const { address } = privateKeyToAccount(claimsOwn ? this.#key : key);
    return JSON.stringify({ text, signature, signing_address: address, signing_algo: "ecdsa" });
  }
}

function signedText(
  { request, headers, answer, model }: SignedExchange,
  behaviour: SigningBehaviour,
): string {
  const { form, rewrites = [], signs, trustsRequestHash } = behaviour;
  const claimed = trustsRequestHash ? headers["x-request-hash"] : undefined;
  const left = typeof claimed === "string" ? claimed : sha256(rewritten(request, rewrites));
  const images = form === undefined && signs === undefined ? imagesOf(answer) : [];
  const right = images.length > 0 ? images.map(sha256).join(",") : sha256(signedBytes(answer, signs));
  if (form === "centralized") return `${left}:${right}:openai:api.example.com:443:${sha256(CERTIFICATE)}`;
  if (form === "named_model") return `org/${model}:v1:${left}:${right}`;
  if (form === "sealed") return `zg-sig-v1/e2ee-ct:${left}:${right}`;
  if (form === "canonical") return `zg-sig-v1/plain:${left}:${right}`;
  return `${left}:${right}`;
}

function signedBytes(answer: SignedExchange["answer"], signs: SigningBehaviour["signs"]): string | Buffer {
  const delivered = answer.kind === "whole" ? answer.content : answer.events.join("");
  if (signs === "another") return UNRELATED;
  if (signs === "prefix")
    return answer.kind === "whole" ? delivered.slice(0, -1) : answer.events.slice(0, -1).join("");
  if (answer.kind === "events" || signs === undefined) return delivered;
  const value: unknown = JSON.parse(String(delivered));
  if (signs === "reserialized") return JSON.stringify(value, undefined, 1);
  return JSON.stringify((value as { readonly choices?: unknown }).choices ?? null);
}

/** The decoded images of an answer. */
function imagesOf(answer: SignedExchange["answer"]): readonly Buffer[] {
  if (answer.kind !== "whole" || !answer.content.includes('"b64_json"')) return [];
  const { data = [] } = JSON.parse(String(answer.content)) as {
    data?: readonly { readonly b64_json?: string }[];
  };
  return data.flatMap(({ b64_json }) => (b64_json === undefined ? [] : [Buffer.from(b64_json, "base64")]));
}
