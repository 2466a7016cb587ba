import "../../shared/schema/reflect.ts";
import { Field, Int, ObjectType } from "type-graphql";
import type { ApiFormat, Profile } from "../../../src/inference/providers/profile.ts";
import { defineEnum } from "../../shared/schema/enumeration.ts";
import { JsonScalar } from "../../shared/schema/scalars.ts";

/** The API format of a request. */
export const ApiFormatEnum = defineEnum<ApiFormat>("ApiFormat", "The API format of a request.", {
  openai: "OpenAI's format, such as at `/v1/chat/completions`.",
  anthropic: "Anthropic's format, at `/v1/messages`.",
  completions: "OpenAI's legacy text completions, at `/v1/completions`.",
  responses: "OpenAI's Responses, at `/v1/responses`, which are translated to chats for other providers.",
});

/** The profile that a provider publishes of its model. */
@ObjectType("ModelProfile", {
  description:
    "A model's profile, as published by a provider. Every field but `formats` is null if the provider does not publish it.",
  simpleResolvers: true,
})
export class ModelProfileType {
  @Field(() => [ApiFormatEnum], { description: "The supported API formats." })
  formats!: readonly ApiFormat[];

  @Field(() => String, { nullable: true, description: "The model's display name." })
  name!: string | undefined;

  @Field(() => String, { nullable: true, description: "The description of the model." })
  description!: string | undefined;

  @Field(() => Int, {
    nullable: true,
    description: "The maximum number of prompt and completion tokens together.",
  })
  contextLength!: number | undefined;

  @Field(() => Int, { nullable: true, description: "The maximum number of completion tokens." })
  maxCompletionTokens!: number | undefined;

  @Field(() => [String], { nullable: true, description: "The input modalities, such as `text` and `image`." })
  inputModalities!: readonly string[] | undefined;

  @Field(() => [String], { nullable: true, description: "The output modalities." })
  outputModalities!: readonly string[] | undefined;

  @Field(() => [String], { nullable: true, description: "The supported request parameters." })
  supportedParameters!: readonly string[] | undefined;

  @Field(() => JsonScalar, {
    nullable: true,
    description: "The default values of request parameters, by name.",
  })
  defaultParameters!: Readonly<Record<string, unknown>> | undefined;

  @Field(() => String, { nullable: true, description: "The name of the model's tokenizer." })
  tokenizer!: string | undefined;

  @Field(() => String, { nullable: true, description: "The instruction format of the model." })
  instructType!: string | undefined;

  @Field(() => String, {
    nullable: true,
    description: "When the provider stops offering the model, as the provider writes it.",
  })
  expirationDate!: string | undefined;

  @Field(() => String, { nullable: true, description: "The type of enclave that the model runs in." })
  teeType!: string | undefined;

  @Field(() => String, { nullable: true, description: "The verifier of the enclave." })
  teeVerifier!: string | undefined;

  @Field(() => String, { nullable: true, description: "The provider's name." })
  providerName!: string | undefined;

  @Field(() => String, { nullable: true, description: "The provider's country." })
  providerCountry!: string | undefined;
}

/** Maps a profile to its GraphQL type. */
export function toProfile(profile: Profile): ModelProfileType {
  const { formats, name, description, contextLength, maxCompletionTokens, supportedParameters } = profile;
  const { inputModalities, outputModalities, teeType, teeVerifier, providerName, providerCountry } = profile;
  const { defaultParameters, tokenizer, instructType, expirationDate } = profile;
  return {
    ...{ defaultParameters, tokenizer, instructType, expirationDate },
    ...{ formats, name, description, contextLength, maxCompletionTokens, supportedParameters },
    ...{ inputModalities, outputModalities, teeType, teeVerifier, providerName, providerCountry },
  };
}
