import { stringifyDocument } from "urql";
import { graphql } from "../../../data/query/graph.ts";
import type { ApiRequest } from "../api/request.ts";
import type { Parameters } from "./parameters.ts";

const CHAT = graphql(`
  subscription Chat($input: ChatInput!) {
    completeChat(input: $input) {
      delta { text reasoning finishReason }
      inputTokens outputTokens
      bill { requestId providerAddress teeVerified cost { total } }
    }
  }
`);

/** A model of the playground: what it can do decides what is sent to it. */
export type ChatModel = {
  readonly modelId: string;
  /** The request parameters that it supports; null if no provider states them. */
  readonly supportedParameters: readonly string[] | null;
};

/** Whether a model takes a reasoning effort. */
export function takesEffort({ supportedParameters }: ChatModel): boolean {
  return supportedParameters?.some((name) => name === "reasoning_effort" || name === "reasoning") ?? true;
}

/** The request for the next answer of a model. */
export function toChatRequest(
  model: ChatModel,
  given: readonly Readonly<Record<string, unknown>>[],
  parameters: Parameters,
): ApiRequest {
  const { system, temperature, topP, maxTokens, seed, effort, tools, schema, sort, only, verify } =
    parameters;
  const messages = system.trim() === "" ? given : [{ role: "system", content: system }, ...given];
  const options = {
    ...(temperature !== undefined && { temperature }),
    ...(topP !== undefined && { top_p: topP }),
    ...(seed !== undefined && { seed }),
    ...(effort !== "" && takesEffort(model) && { reasoning_effort: effort }),
    ...(tools && tools.length > 0 && { tools }),
    ...(schema && {
      response_format: { type: "json_schema", json_schema: { name: "answer", schema } },
    }),
  };
  const headers = {
    ...(sort !== "" && { "X-0G-Provider-Sort": sort }),
    ...(only.length > 0 && { "X-0G-Provider-Only": only.join(",") }),
  };
  const routing = {
    ...(sort !== "" && { sort: sort.toUpperCase() }),
    ...(only.length > 0 && { only }),
  };
  const input = {
    model: model.modelId,
    messages: messages.map(toGraphMessage),
    ...(maxTokens !== undefined && { maxTokens }),
    ...(Object.keys(options).length > 0 && { options }),
    ...(Object.keys(routing).length > 0 && { routing }),
    ...(verify && { verifyTee: true }),
  };
  return {
    path: "/v1/chat/completions",
    ...(Object.keys(headers).length > 0 && { headers }),
    body: {
      model: model.modelId,
      messages,
      stream: true,
      stream_options: { include_usage: true },
      ...(maxTokens !== undefined && { max_tokens: maxTokens }),
      ...options,
      ...(verify && { verify_tee: true }),
    },
    graph: { document: stringifyDocument(CHAT), variables: { input }, isStream: true },
  };
}

function toGraphMessage({ role, content, ...more }: Readonly<Record<string, unknown>>) {
  if (typeof content === "string") return { role, content, ...(Object.keys(more).length > 0 && { more }) };
  return { role, more: { content, ...more } };
}
