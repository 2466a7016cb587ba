import "../../shared/schema/reflect.ts";
import { Field, Float, InputType, Int, ObjectType } from "type-graphql";
import type { Trace } from "../../../src/inference/billing/trace.ts";
import { type RerankRequest, readRerankRequest } from "../../../src/inference/rerank/rerank-request.ts";
import { IDEMPOTENCY_KEY } from "../../shared/once.ts";
import { JsonScalar } from "../../shared/schema/scalars.ts";
import { TAGS, TagInput } from "../../shared/tag.type.ts";
import { PayloadType } from "../../shared/user-errors.ts";
import { InferenceBillType, toBill } from "../chat/chat.type.ts";
import { withMembers } from "../members.ts";
import { RoutingInput } from "../routing/routing-input.type.ts";
import { VERIFY_TEE } from "../verify-tee.ts";

/** Documents to rank. */
@InputType("RerankDocumentsInput", { description: "Documents to rank by a query." })
export class RerankDocumentsInput {
  @Field(() => String, { description: "The id of the model." })
  model!: string;

  @Field(() => String, { description: "The query." })
  query!: string;

  @Field(() => [String], { description: "The texts of the documents, 1 to 1,000." })
  documents!: readonly string[];

  @Field(() => Int, { nullable: true, description: "The number of results. Default: all documents." })
  topN?: number | null;

  @Field(() => JsonScalar, { nullable: true, description: "Additional members of Cohere's request body." })
  options?: unknown;

  @Field(() => RoutingInput, { nullable: true, description: "Routing preferences." })
  routing?: RoutingInput | null;

  @Field(() => [TagInput], { nullable: true, description: TAGS })
  tags?: readonly TagInput[] | null;

  @Field(() => Boolean, { nullable: true, description: VERIFY_TEE })
  verifyTee?: boolean | null;

  @Field(() => String, { nullable: true, description: IDEMPOTENCY_KEY })
  idempotencyKey?: string | null;
}

/** The request that REST would parse. Throws `invalid_body`. */
export function toRerankRequest(input: RerankDocumentsInput): Promise<RerankRequest> {
  const { model, query, documents, topN, options, verifyTee } = input;
  const body = {
    ...{ model, query, documents },
    ...(topN != null && { top_n: topN }),
    return_documents: false,
    verify_tee: verifyTee ?? false,
  };
  return readRerankRequest(Buffer.from(JSON.stringify(withMembers(body, options, "options"))));
}

/** One document of a ranking. */
@ObjectType("RankedDocument", { description: "One document of a ranking.", simpleResolvers: true })
export class RankedDocumentType {
  @Field(() => Int, { description: "The position of the document in the request, from 0." })
  index!: number;

  @Field(() => Float, { description: "Its relevance to the query: the higher, the more relevant." })
  relevanceScore!: number;
}

/** Documents by their relevance to a query. */
@ObjectType("Ranking", { description: "Documents by their relevance to a query.", simpleResolvers: true })
export class RankingType {
  @Field(() => [RankedDocumentType], { description: "The documents, the most relevant first." })
  results!: readonly RankedDocumentType[];

  @Field(() => Int, { description: "The number of tokens of all documents, each with the query." })
  inputTokens!: number;

  @Field(() => InferenceBillType, { description: "The cost of the request and the provider that served it." })
  bill!: InferenceBillType;
}

/** The result of the mutation. */
@ObjectType("RerankDocumentsPayload", {
  description: "The result of `rerankDocuments`. Its other fields are null if there are `userErrors`.",
  simpleResolvers: true,
})
export class RerankDocumentsPayload extends PayloadType {
  @Field(() => RankingType, { nullable: true, description: "The ranking and its bill." })
  ranking?: RankingType | null;
}

/** Maps an answer of `RerankService.rank` to its GraphQL type. */
export function toRanking(body: Buffer): RankingType {
  const { results, usage, x_0g_trace } = JSON.parse(body.toString("utf8")) as {
    readonly results: readonly { readonly index: number; readonly relevance_score: number }[];
    readonly usage: { readonly prompt_tokens: number };
    readonly x_0g_trace: Trace;
  };
  return {
    results: results.map(({ index, relevance_score }) => ({ index, relevanceScore: relevance_score })),
    inputTokens: usage.prompt_tokens,
    bill: toBill(x_0g_trace),
  };
}
