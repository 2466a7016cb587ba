import { createHash } from "node:crypto";
import { setImmediate } from "node:timers/promises";
import { z } from "zod";

const DEFAULT_DIMENSIONS = 256;
const MAX_DIMENSIONS = 4_096;
/** Of all inputs together: the vector of a longer text is that of its beginning. */
const MAX_READ_CHARACTERS = 65_536;
const INPUTS_PER_TURN = 16;

const tokens = z.array(z.int()).min(1);
const text = z.string().min(1);
const embeddingsRequest = z.object({
  model: z.string(),
  input: z.union([text, tokens, z.array(text).min(1), z.array(tokens).min(1)]),
  encoding_format: z.enum(["float", "base64"]).nullish(),
  dimensions: z.int().min(1).max(MAX_DIMENSIONS).nullish(),
});

/** A request for embeddings that the stand-in provider can answer. */
export type EmbeddingsRequest = z.infer<typeof embeddingsRequest>;

/** Reads a request for embeddings; undefined for an invalid one. */
export function readEmbeddingsRequest(body: unknown): EmbeddingsRequest | undefined {
  return embeddingsRequest.safeParse(body).data;
}

/** All inputs as one text. */
export function textOf(request: EmbeddingsRequest): string {
  return inputsOf(request).join(" ");
}

/** OpenAI's list of embeddings, one vector per input, as JSON text, computed over several turns of the event loop. */
export async function embed(request: EmbeddingsRequest, usageJson: string): Promise<string> {
  const { model, encoding_format: encoding, dimensions } = request;
  const inputs = inputsOf(request);
  const readCharacters = Math.ceil(MAX_READ_CHARACTERS / inputs.length);
  const items: string[] = [];
  for (const [index, input] of inputs.entries()) {
    const vector = vectorOf(input.slice(0, readCharacters), dimensions ?? DEFAULT_DIMENSIONS);
    const embedding = encoding === "base64" ? base64Of(vector) : [...vector];
    items.push(JSON.stringify({ object: "embedding", index, embedding }));
    if (index % INPUTS_PER_TURN === 0) await setImmediate();
  }
  return `{"object":"list","model":${JSON.stringify(model)},"data":[${items.join()}],"usage":${usageJson}}`;
}

/** A list of tokens is one input; its tokens are its words. */
function inputsOf({ input }: EmbeddingsRequest): readonly string[] {
  if (typeof input === "string") return [input];
  const isTokens = typeof input[0] === "number";
  return isTokens ? [input.join(" ")] : input.map((item) => [item].flat().join(" "));
}

/**
 * A unit vector that counts each word at a position derived from its hash: texts with common words have a positive
 * cosine, as with a real model.
 */
function vectorOf(input: string, dimensions: number): Float32Array {
  const vector = new Float32Array(dimensions);
  for (const word of input.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [input]) {
    const hash = createHash("sha256").update(word).digest();
    const at = hash.readUInt32LE(0) % dimensions;
    vector[at] = (vector[at] ?? 0) + 1;
  }
  const length = Math.hypot(...vector);
  return vector.map((value) => value / length);
}

function base64Of(vector: Float32Array): string {
  return Buffer.from(vector.buffer, vector.byteOffset, vector.byteLength).toString("base64");
}
