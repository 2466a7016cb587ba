import { z } from "zod";

const MAX_READ_CHARACTERS = 65_536;

const text = z.string().min(1);
const rankingRequest = z.object({
  model: z.string(),
  query: text,
  documents: z
    .array(z.union([text, z.object({ text })]))
    .min(1)
    .max(1_000),
  top_n: z.int().min(1).nullish(),
  return_documents: z.boolean().nullish(),
});

/** A request to rank documents that the stand-in provider can answer. */
export type RankingRequest = z.infer<typeof rankingRequest>;

/** Reads a request to rank documents; undefined for an invalid one. */
export function readRankingRequest(body: unknown): RankingRequest | undefined {
  return rankingRequest.safeParse(body).data;
}

/** The texts of all documents as one text. */
export function documentsText({ documents }: RankingRequest): string {
  return documents.map(textOf).join(" ");
}

/** Cohere's `id` and `results`: documents by the share of the query's words that they contain, the first one on ties. */
export function rank({ query, documents, top_n, return_documents }: RankingRequest) {
  const readCharacters = Math.ceil(MAX_READ_CHARACTERS / documents.length);
  const wanted = wordsOf(query.slice(0, MAX_READ_CHARACTERS));
  const scored = documents.map((document, index) => {
    const found = wordsOf(textOf(document).slice(0, readCharacters));
    const shared = [...wanted].filter((word) => found.has(word)).length;
    return {
      index,
      relevance_score: wanted.size === 0 ? 0 : shared / wanted.size,
      ...(return_documents && { document: { text: textOf(document) } }),
    };
  });
  return scored
    .toSorted((one, other) => other.relevance_score - one.relevance_score)
    .slice(0, top_n ?? documents.length);
}

function textOf(document: RankingRequest["documents"][number]): string {
  return typeof document === "string" ? document : document.text;
}

function wordsOf(text: string): ReadonlySet<string> {
  return new Set(text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []);
}
