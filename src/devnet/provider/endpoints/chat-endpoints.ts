import { randomUUID } from "node:crypto";
import { type Completion, toEvents, toPlainAnswer } from "./completion.ts";
import { Composer } from "./composer.ts";
import { type Endpoint, JSON_TYPE, notServed, type Offer, refused, whole } from "./endpoint.ts";
import {
  composeMessage,
  conversationOf,
  readMessagesRequest,
  toMessage,
  toMessageEvents,
} from "./message.ts";
import { PromptCache } from "./prompt-cache.ts";
import {
  composeResponse,
  inputMessages,
  itemMessages,
  KeptResponses,
  readResponsesRequest,
  toResponse,
} from "./response.ts";
import {
  composeText,
  promptMessages,
  readTextRequest,
  toTextCompletion,
  toTextEvents,
} from "./text-completion.ts";

/** Chats, as one response or streamed. */
export function chatOf(offer: Offer): Endpoint {
  const composer = new Composer(offer.countTokens);
  const cache = offer.cachesPrompts ? new PromptCache(offer.countTokens) : undefined;
  return async ({ body, usageJson, chunks }) => {
    const known = await composer.compose(body.toString("utf8"));
    if (!known) return refused("not a chat request");
    const { request, completion } = known;
    if (request.model !== offer.model) return notServed(request.model);
    const responseKey = randomUUID();
    const head = {
      id: `chatcmpl-${responseKey}`,
      model: request.model,
      created: Math.floor(Date.now() / 1_000),
    };
    const ownUsage = cache ? await withCache(cache, request.messages, completion) : completion.usageJson;
    const stated = { ...completion, usageJson: usageJson ?? ownUsage };
    if (!request.stream)
      return {
        kind: "whole",
        contentType: JSON_TYPE,
        content: toPlainAnswer(head, stated),
        responseKey,
      };
    const includeUsage = request.stream_options?.include_usage === true;
    return { kind: "events", events: toEvents(head, stated, { includeUsage, chunks }), responseKey };
  };
}

/** Text completions, in OpenAI's legacy format. */
export function completionsOf(offer: Offer): Endpoint {
  return async ({ body, usageJson }) => {
    const request = readTextRequest(body.toString("utf8"));
    if (!request) return refused("not a request for text completions");
    if (request.model !== offer.model) return notServed(request.model);
    const completion = composeText(request, await offer.countTokens(promptMessages(request)));
    const stated = { ...completion, usageJson: usageJson ?? completion.usageJson };
    const responseKey = randomUUID();
    const head = {
      id: `cmpl-${responseKey}`,
      model: request.model,
      created: Math.floor(Date.now() / 1_000),
    };
    if (request.stream) return { kind: "events", events: toTextEvents(request, head, stated), responseKey };
    const content = toTextCompletion(request, head, stated);
    return { kind: "whole", contentType: JSON_TYPE, content, responseKey };
  };
}

/** Messages in Anthropic's format. */
export function messagesOf(offer: Offer): Endpoint {
  const cache = offer.cachesPrompts ? new PromptCache(offer.countTokens) : undefined;
  return async ({ body, usageJson, chunks }) => {
    const request = readMessagesRequest(body.toString("utf8"));
    if (request?.max_tokens === undefined) return refused("not a messages request");
    if (request.model !== offer.model) return notServed(request.model);
    const messages = conversationOf(request);
    const promptTokens = await offer.countTokens(messages);
    const completion = composeMessage(request, promptTokens);
    const cachedTokens = await cache?.read(messages, promptTokens);
    const head = { model: request.model, usageJson, cachedTokens };
    if (request.stream) {
      const { id, events } = toMessageEvents(head, completion, chunks);
      return { kind: "events", events, responseKey: id };
    }
    const { id, text } = toMessage(head, completion);
    return { kind: "whole", contentType: JSON_TYPE, content: text, responseKey: id };
  };
}

/** Responses in OpenAI's format; those with `store` can be continued. */
export function responsesOf(offer: Offer): Endpoint {
  const kept = new KeptResponses();
  return async ({ body, usageJson, chunks }) => {
    const request = readResponsesRequest(body.toString("utf8"));
    if (!request) return refused("not a request for a response");
    if (request.model !== offer.model) return notServed(request.model);
    const before = kept.before(request);
    if (!before) return refused(`Previous response with id '${request.previous_response_id}' not found.`);
    const { instructions } = request;
    const conversation = [...before, ...inputMessages(request)];
    const system = instructions == null ? [] : [{ role: "system", content: instructions }];
    const messages = [...system, ...conversation];
    const completion = composeResponse(request, messages, await offer.countTokens(messages));
    const { id, output, whole: content, events } = toResponse(request, completion, { usageJson, chunks });
    if (request.store !== false) kept.keep(id, [...conversation, ...itemMessages(output)]);
    if (request.stream) return { kind: "events", events, responseKey: id };
    return { kind: "whole", contentType: JSON_TYPE, content, responseKey: id };
  };
}

/** The number of tokens of a request in Anthropic's format. */
export function tokenCountOf(offer: Offer): Endpoint {
  return async ({ body }) => {
    const request = readMessagesRequest(body.toString("utf8"));
    if (!request) return refused("not a messages request");
    if (request.model !== offer.model) return notServed(request.model);
    const input_tokens = await offer.countTokens(conversationOf(request));
    return whole(JSON.stringify({ input_tokens }));
  };
}

/** The usage of a completion with the tokens that were read from the cache, as OpenAI reports them. */
async function withCache(
  cache: PromptCache,
  messages: readonly unknown[],
  { usageJson }: Completion,
): Promise<string> {
  const usage = JSON.parse(usageJson) as { readonly prompt_tokens: number };
  const cached_tokens = await cache.read(messages, usage.prompt_tokens);
  return JSON.stringify({ ...usage, prompt_tokens_details: { cached_tokens } });
}
