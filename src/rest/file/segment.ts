import { z } from "zod";
import { readBase64 } from "../../kernel/text/base64.ts";
import { type Hex, lowerHex } from "../../kernel/text/hex.ts";
import { SEGMENT_BYTES } from "../../storage/merkle/shape.ts";
import { envelope, envelopeOf } from "../envelope.ts";
import { defineRoute, json } from "../route.ts";

const DONE = "Succeeded to upload segment";
const BODY_LIMIT_BYTES = 524_288;
/** The merkle path of a file of 2^64 bytes is shorter. */
const MAX_PROOF_LENGTH = 64;
const MAX_DATA_CHARACTERS = Math.ceil(SEGMENT_BYTES / 3) * 4;

/** For the description: `readBase64` also refuses bits that a last character has beyond the bytes. */
const BASE64 = "^([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$";

const ZERO_ROOT = `0x${"0".repeat(64)}`;

const hash = z
  .string()
  .regex(/^0x[0-9a-fA-F]{64}$/, "must be 0x and 64 hexadecimal digits")
  .transform((text): Hex => lowerHex(text));

const body = z.object({
  root: hash.optional().meta({ description: "The file's root. Give this or `txSeq`." }),
  txSeq: z.int().min(0).nullish().meta({
    description:
      "The sequence number of one of the file's submissions. Takes precedence over a root of zeros.",
  }),
  index: z.int().min(0).meta({ description: "The index of the segment in the file, from 0." }),
  data: z
    .string()
    .min(1, "Segment data is empty")
    .max(MAX_DATA_CHARACTERS)
    .meta({
      contentEncoding: "base64",
      pattern: BASE64,
      description:
        "The segment's bytes in base64: 262,144 bytes. The last segment has as many 256-byte chunks as its data fills, padded with zeros.",
    })
    .transform((text, { addIssue }): Buffer => {
      const bytes = readBase64(text);
      if (bytes) return bytes;
      addIssue("illegal base64 data");
      return z.NEVER;
    }),
  proof: z.object({
    // Clients in Go write an empty list as null.
    lemma: z
      .array(hash)
      .max(MAX_PROOF_LENGTH + 2)
      .nullable()
      .transform((list) => list ?? []),
    path: z
      .array(z.boolean())
      .max(MAX_PROOF_LENGTH)
      .nullable()
      .transform((list) => list ?? []),
  }),
  expectedReplica: z.int().min(0).optional().meta({ description: "Accepted and ignored." }),
});

/** `POST /file/segment`: stores a segment of a submitted file (SPEC 4.3; facts: storage section 1.6). */
export const uploadSegment = defineRoute({
  method: "POST",
  url: "/file/segment",
  summary: "Upload a segment of a file",
  access: "public",
  errors: "storage",
  allowAnyOrigin: true,
  bodyLimitBytes: BODY_LIMIT_BYTES,
  body,
  answer: { json: envelopeOf(z.literal(DONE)) },
  async handle(app, { body: { root, txSeq, index, data, proof } }) {
    const segment = {
      // Clients in Go always send a root: zeros when they name the file by its txSeq.
      root: typeof txSeq === "number" && root === ZERO_ROOT ? undefined : root,
      txSeq: typeof txSeq === "number" ? BigInt(txSeq) : undefined,
      ...{ index, proof },
    };
    await app.uploads.put({ ...segment, data });
    return json(envelope(DONE));
  },
});
