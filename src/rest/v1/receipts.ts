import { z } from "zod";
import { AppError } from "../../kernel/errors.ts";
import { isStorable } from "../../kernel/text/storable.ts";
import { parseVerifierKey } from "../../receipts/format/checkpoint.ts";
import { RECEIPT_VERSION } from "../../receipts/format/receipt.ts";
import { defineRoute, json } from "../route.ts";
import { address, count, neuron, timestamp } from "../wire.ts";

const hash = z.string().regex(/^[0-9a-f]{64}$/);
const commitment = hash.nullable();
const verifierKey = z
  .string()
  .refine((text) => parseVerifierKey(text) !== undefined, "must be a vkey")
  .meta({ description: "The router's Ed25519 key as a C2SP vkey: `name+id+base64(type, key)`." });
const note = z.string().meta({ description: "The head as a C2SP checkpoint: a signed note." });

const RECEIPT = z
  .strictObject({
    version: z.literal(RECEIPT_VERSION),
    request_id: z.string(),
    account: address,
    api_key_id: z.uuid().nullable(),
    endpoint: z
      .string()
      .nullable()
      .meta({ description: "Null if the request was ended by another process." }),
    model: z.string(),
    model_answered: z.string().nullable(),
    provider: address,
    salt: hash,
    hashes: z.strictObject({
      received: commitment,
      forwarded: commitment,
      answered: commitment,
      returned: commitment,
    }),
    usage: z.strictObject({
      input_tokens: count.nullable(),
      output_tokens: count.nullable(),
      cached_tokens: count,
      cache_write_tokens: count,
      cache_write_1h_tokens: count,
      units: count.nullable(),
      estimated: z.boolean(),
    }),
    prices: z.strictObject({ input: neuron, output: neuron }),
    charge: neuron,
    outcome: z.enum(["completed", "failed", "aborted"]),
    error_code: z.string().nullable(),
    evidence: z
      .strictObject({
        verdict: z.string(),
        form: z.string().nullable(),
        request_bound: z.boolean().nullable(),
        response_bound: z.boolean().nullable(),
        signer: z.string().nullable(),
        text: commitment,
      })
      .nullable(),
    started_at: timestamp,
    finished_at: timestamp,
    previous_leaf: hash.nullable(),
  })
  .meta({
    id: "Receipt",
    description:
      "The router's statement about one billed request. Each of `hashes` is SHA-256(salt ‖ SHA-256(bytes)) of a body.",
  });

const BUNDLE = z
  .strictObject({
    receipt: RECEIPT,
    signature: z
      .string()
      .regex(/^[0-9a-f]{128}$/)
      .meta({ description: "Ed25519 over the receipt's canonical JSON (RFC 8785)." }),
    key_id: z.string(),
    public_key: verifierKey,
    log: z.strictObject({
      leaf_index: count,
      tree_size: count,
      inclusion_proof: z.array(hash),
      checkpoint: note,
    }),
    provider_signature: z
      .strictObject({ text: z.string(), signature: z.string(), signing_address: address.nullable() })
      .nullable()
      .meta({
        description:
          "The provider's signature of its answer; null unless it was fetched before the receipt was written.",
      }),
  })
  .meta({ id: "ReceiptBundle" });

/** GET /v1/receipts/{requestId}: the receipt of a request, and all that proves it offline. */
export const getReceipt = defineRoute({
  method: "GET",
  url: "/v1/receipts/:requestId",
  summary: "Retrieve the receipt of a request",
  access: "receipt.read",
  answer: { json: BUNDLE },
  async handle(app, { reach, params }) {
    const { requestId = "" } = params;
    if (!isStorable(requestId))
      throw new AppError("receipt_not_found", "There is no receipt for this request.");
    return json(await app.receipts.bundle(reach, requestId));
  },
});

/** GET /v1/receipts/checkpoint: the newest signed head of the log. */
export const getCheckpoint = defineRoute({
  method: "GET",
  url: "/v1/receipts/checkpoint",
  summary: "Retrieve the signed head of the log of receipts",
  access: "public",
  allowAnyOrigin: true,
  answer: { media: { "text/plain": note } },
  async handle(app) {
    const head = await app.receipts.head();
    if (!head) throw new AppError("not_found", "The log of receipts has no signed head yet.");
    return {
      kind: "bytes",
      bytes: Buffer.from(head.note),
      headers: { "content-type": "text/plain; charset=utf-8" },
    };
  },
});

/** GET /v1/receipts/consistency: what proves that the newest head continues an earlier one. */
export const getConsistency = defineRoute({
  method: "GET",
  url: "/v1/receipts/consistency",
  summary: "Prove that the log of receipts only grew",
  access: "public",
  allowAnyOrigin: true,
  query: z.object({
    from: z
      .string()
      .regex(/^(0|[1-9]\d{0,14})$/, "must be a number of receipts")
      .default("0")
      .transform(Number),
  }),
  answer: {
    json: z.strictObject({ from: count, size: count, hashes: z.array(hash), checkpoint: note }),
  },
  async handle(app, { query }) {
    return json(await app.receipts.consistency(query.from));
  },
});

/** GET /v1/receipts/key: the key that signs receipts and heads. */
export const getReceiptKey = defineRoute({
  method: "GET",
  url: "/v1/receipts/key",
  summary: "Retrieve the key that signs receipts",
  access: "public",
  allowAnyOrigin: true,
  answer: { json: z.strictObject({ name: z.string(), key_id: z.string(), public_key: verifierKey }) },
  async handle({ receipts: { key } }) {
    return json({ name: key.name, key_id: key.keyId, public_key: key.verifierKey });
  },
});
