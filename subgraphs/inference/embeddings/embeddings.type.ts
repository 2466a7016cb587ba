import "../../shared/schema/reflect.ts";
import { Field, InputType, Int, ObjectType } from "type-graphql";
import type { Trace } from "../../../src/inference/billing/trace.ts";
import { invalidField } from "../../../src/inference/body/invalid-field.ts";
import type { EncodedVectors } from "../../../src/inference/embeddings/embeddings-answer.ts";
import {
  type EmbeddingsRequest,
  readEmbeddingsRequest,
} from "../../../src/inference/embeddings/embeddings-request.ts";
import { withoutAdded } from "../../../src/inference/guardrails/guarded-request.ts";
import { CACHE_SECONDS } from "../../shared/cache.ts";
import { IDEMPOTENCY_KEY } from "../../shared/once.ts";
import { JsonScalar } from "../../shared/schema/scalars.ts";
import { TAGS, TagInput } from "../../shared/tag.type.ts";
import { PayloadType } from "../../shared/user-errors.ts";
import { InferenceBillType, toBill } from "../chat/chat.type.ts";
import { withMembers } from "../members.ts";
import { RoutingInput } from "../routing/routing-input.type.ts";
import { VERIFY_TEE } from "../verify-tee.ts";

/** Bounds the vectors that one result holds in memory. */
const MAX_TEXTS = 256;

/** Texts to embed. */
@InputType("CreateEmbeddingsInput", { description: "Texts to embed." })
export class CreateEmbeddingsInput {
  @Field(() => String, { description: "The id of the model." })
  model!: string;

  @Field(() => [String], { description: "The texts, 1 to 256. Each one gets a vector." })
  texts!: readonly string[];

  @Field(() => Int, {
    nullable: true,
    description: "The number of dimensions of the vectors. Default: the model's.",
  })
  dimensions?: number | null;

  @Field(() => JsonScalar, { nullable: true, description: "Additional members of OpenAI's request body." })
  options?: unknown;

  @Field(() => RoutingInput, { nullable: true, description: "Routing preferences." })
  routing?: RoutingInput | null;

  @Field(() => [TagInput], { nullable: true, description: TAGS })
  tags?: readonly TagInput[] | null;

  @Field(() => Boolean, { nullable: true, description: VERIFY_TEE })
  verifyTee?: boolean | null;

  @Field(() => Int, { nullable: true, description: CACHE_SECONDS })
  cacheSeconds?: number | null;

  @Field(() => String, { nullable: true, description: IDEMPOTENCY_KEY })
  idempotencyKey?: string | null;
}

/** The request that REST would parse. Throws `invalid_body`. */
export async function toEmbeddingsRequest(input: CreateEmbeddingsInput): Promise<EmbeddingsRequest> {
  const { model, texts, dimensions, options, verifyTee } = input;
  requireTexts(texts);
  const body = {
    model,
    input: texts,
    ...(dimensions != null && { dimensions }),
    encoding_format: "base64",
    verify_tee: verifyTee ?? false,
  };
  return withoutAdded(
    await readEmbeddingsRequest(Buffer.from(JSON.stringify(withMembers(body, options, "options")))),
    ["encoding_format"],
  );
}

function requireTexts(texts: readonly string[]): void {
  if (texts.length < 1 || texts.length > MAX_TEXTS)
    throw invalidField("texts", `must be 1 to ${MAX_TEXTS} texts`);
  const empty = texts.indexOf("");
  if (empty !== -1) throw invalidField(`texts.${empty}`, "is empty");
}

/** The embeddings of some texts. */
@ObjectType("Embeddings", { description: "The embeddings of some texts.", simpleResolvers: true })
export class EmbeddingsType {
  @Field(() => [String], {
    description:
      "The vectors in the order of the texts: base64 of 32-bit floats, little-endian. In JavaScript, " +
      "`new Float32Array(bytes.buffer)` of the decoded bytes.",
  })
  vectors!: readonly string[];

  @Field(() => Int, { description: "The number of tokens of all texts." })
  inputTokens!: number;

  @Field(() => InferenceBillType, { description: "The cost of the request and the provider that served it." })
  bill!: InferenceBillType;
}

/** The result of the mutation. */
@ObjectType("CreateEmbeddingsPayload", {
  description: "The result of `createEmbeddings`. Its other fields are null if there are `userErrors`.",
  simpleResolvers: true,
})
export class CreateEmbeddingsPayload extends PayloadType {
  @Field(() => EmbeddingsType, { nullable: true, description: "The embeddings and their bill." })
  embeddings?: EmbeddingsType | null;
}

/** Maps an answer to its GraphQL type. */
export function toEmbeddings({ vectors, inputTokens, trace }: EncodedVectors): EmbeddingsType {
  return { vectors, inputTokens, bill: toBill(trace as Trace) };
}
