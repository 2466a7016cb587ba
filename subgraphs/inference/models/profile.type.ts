import "../../shared/schema/reflect.ts";
import { Field, Int, ObjectType } from "type-graphql";
import type { ApiFormat, Profile } from "../../../src/inference/providers/profile.ts";
import { defineEnum } from "../../shared/schema/enumeration.ts";

/** The formats of requests. */
export const ApiFormatEnum = defineEnum<ApiFormat>("ApiFormat", "The format of a request.", {
  openai: "OpenAI's, at `/v1/chat/completions` and its like.",
  anthropic: "Anthropic's, at `/v1/messages`.",
});

/** What a provider tells of its model. */
@ObjectType("ModelProfile", {
  description: "What a provider tells of its model; null is what it does not tell.",
  simpleResolvers: true,
})
export class ModelProfileType {
  @Field(() => [ApiFormatEnum], { description: "The API formats that it supports." })
  formats!: readonly ApiFormat[];

  @Field(() => String, { nullable: true, description: "The model's name for people." })
  name!: string | undefined;

  @Field(() => String, { nullable: true, description: "What the model is good for." })
  description!: string | undefined;

  @Field(() => Int, { nullable: true, description: "Tokens of question and answer together." })
  contextLength!: number | undefined;

  @Field(() => Int, { nullable: true, description: "Tokens that an answer may have." })
  maxCompletionTokens!: number | undefined;

  @Field(() => [String], { nullable: true, description: "What it takes, such as `text` and `image`." })
  inputModalities!: readonly string[] | undefined;

  @Field(() => [String], { nullable: true, description: "What it gives." })
  outputModalities!: readonly string[] | undefined;

  @Field(() => [String], { nullable: true, description: "The parameters of a request that it heeds." })
  supportedParameters!: readonly string[] | undefined;

  @Field(() => String, { nullable: true, description: "The kind of enclave that it runs in." })
  teeType!: string | undefined;

  @Field(() => String, { nullable: true, description: "Who vouches for the enclave." })
  teeVerifier!: string | undefined;

  @Field(() => String, { nullable: true, description: "Who provides it." })
  providerName!: string | undefined;

  @Field(() => String, { nullable: true, description: "Where it is provided." })
  providerCountry!: string | undefined;
}

/** What the graph tells of a profile. */
export function toProfile(profile: Profile): ModelProfileType {
  const { formats, name, description, contextLength, maxCompletionTokens, supportedParameters } = profile;
  const { inputModalities, outputModalities, teeType, teeVerifier, providerName, providerCountry } = profile;
  return {
    ...{ formats, name, description, contextLength, maxCompletionTokens, supportedParameters },
    ...{ inputModalities, outputModalities, teeType, teeVerifier, providerName, providerCountry },
  };
}
