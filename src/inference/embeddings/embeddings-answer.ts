import { type Edit, itemsOf, type Range, valuesOf } from "../body/json-member.ts";
import { outlineOf, parseAnswerJson } from "../body/outline.ts";
import type { Encoding } from "./embeddings-request.ts";

/** What the router reads from a provider's embeddings, without the vectors themselves. */
export type ReadVectors = {
  /** The answer without its list `data`. */
  readonly fields: unknown;
  /** The number of vectors; undefined unless `data` has one in the requested encoding for each of its indexes. */
  readonly vectors: number | undefined;
  /** The edits that encode vectors in base64 where the provider returned lists. */
  readonly edits: readonly Edit[];
};

/**
 * Reads the JSON of embeddings. Many servers ignore `encoding_format` and return lists of numbers, which clients that
 * requested base64, as OpenAI's do by default, would decode to zeros: these lists are encoded here. An answer of
 * 64 MiB takes seconds, so long ones are read on a `BodyPool` thread. Throws what `parseAnswerJson` throws.
 */
export function readVectors(body: Buffer, encoding: Encoding): ReadVectors {
  const value = parseAnswerJson(body);
  if (typeof value !== "object" || value === null) return { fields: value, vectors: undefined, edits: [] };
  const { data, ...others } = value as Readonly<Record<string, unknown>>;
  const fields = outlineOf(others);
  const items: readonly unknown[] = Array.isArray(data) ? data : [];
  const vectors = items.map(vectorOf);
  const isWhole = vectors.every(
    (vector) => vector !== undefined && (encoding === "base64" || Array.isArray(vector)),
  );
  if (!isWhole || !placesOf(items)) return { fields, vectors: undefined, edits: [] };
  const isEncoded = encoding === "base64" && vectors.some((vector) => Array.isArray(vector));
  const edits = isEncoded ? encodeLists(body, vectors) : [];
  return { fields, vectors: edits && vectors.length, edits: edits ?? [] };
}

/**
 * The place of each item by its `index`, which servers may leave out of all of them, as the order says the same; undefined
 * if several items have one place, or one is beyond the last.
 */
function placesOf(items: readonly unknown[]): readonly number[] | undefined {
  const stated = items.map((item) => Object(item).index as unknown);
  if (stated.every((index) => index == null)) return [...stated.keys()];
  const isPlace = (index: unknown): index is number =>
    Number.isSafeInteger(index) && (index as number) >= 0 && (index as number) < items.length;
  return stated.every(isPlace) && new Set(stated).size === items.length ? stated : undefined;
}

type Vector = readonly number[] | string;

/** The vector of an item: numbers, or base64; undefined for anything else. */
function vectorOf(item: unknown): Vector | undefined {
  if (typeof item !== "object" || item === null || !("embedding" in item)) return undefined;
  const { embedding } = item;
  if (typeof embedding === "string") return embedding === "" ? undefined : embedding;
  const isList = Array.isArray(embedding) && embedding.length > 0 && embedding.every(Number.isFinite);
  return isList ? embedding : undefined;
}

/** Undefined for an answer that repeats a member, which parsers read differently. */
function encodeLists(body: Buffer, vectors: readonly (Vector | undefined)[]): readonly Edit[] | undefined {
  const data = only(valuesOf(body, "data"));
  const places = data && itemsOf(body, data).map((item) => only(valuesOf(body, "embedding", item)));
  if (!places || places.length !== vectors.length) return undefined;
  const edits: Edit[] = [];
  for (const [index, place] of places.entries()) {
    if (!place) return undefined;
    const vector = vectors[index];
    if (Array.isArray(vector)) edits.push({ place, parts: [`"${base64Of(vector)}"`] });
  }
  return edits;
}

function base64Of(vector: readonly number[]): string {
  const bytes = Buffer.alloc(vector.length * Float32Array.BYTES_PER_ELEMENT);
  for (const [index, value] of vector.entries())
    bytes.writeFloatLE(value, index * Float32Array.BYTES_PER_ELEMENT);
  return bytes.toString("base64");
}

/** The vectors of one of our own answers, in base64 and in the order of the inputs, with its usage and its bill. */
export type EncodedVectors = {
  readonly vectors: readonly string[];
  readonly inputTokens: number;
  readonly trace: unknown;
};

/** Reads an answer that `EmbeddingsService.create` returned to a request for base64. */
export function readEncodedVectors(json: string): EncodedVectors {
  const { data, usage, x_0g_trace } = JSON.parse(json) as {
    readonly data: readonly { readonly embedding: string; readonly index?: unknown }[];
    readonly usage: { readonly prompt_tokens: number };
    readonly x_0g_trace?: unknown;
  };
  const vectors: string[] = new Array(data.length);
  for (const [at, place] of (placesOf(data) ?? []).entries()) vectors[place] = data[at]?.embedding ?? "";
  return { vectors, inputTokens: usage.prompt_tokens, trace: x_0g_trace };
}

function only(ranges: readonly Range[]): Range | undefined {
  return ranges.length === 1 ? ranges[0] : undefined;
}
