import { randomUUID } from "node:crypto";
import { z } from "zod";
import type { ServiceType } from "../../inference/providers/provider.ts";
import { readTranscriptionRequest, transcribe } from "./audio-transcript.ts";
import { type Completion, toEvents, toPlainAnswer } from "./completion.ts";
import { Composer } from "./composer.ts";
import { embed, readEmbeddingsRequest, textOf } from "./embeddings.ts";
import { type Form, readForm } from "./form.ts";
import { drawImage, type ImageSize, sizeOfPng } from "./image.ts";
import {
  composeMessage,
  conversationOf,
  readMessagesRequest,
  toMessage,
  toMessageEvents,
} from "./message.ts";
import { PromptCache } from "./prompt-cache.ts";
import { documentsText, rank, readRankingRequest } from "./ranking.ts";
import {
  composeResponse,
  inputMessages,
  itemMessages,
  KeptResponses,
  readResponsesRequest,
  toResponse,
} from "./response.ts";
import { readSpeechRequest, speak } from "./speech.ts";
import {
  composeText,
  promptMessages,
  readTextRequest,
  toTextCompletion,
  toTextEvents,
} from "./text-completion.ts";

/** The input of an endpoint; `usageJson` and `chunks` come from the behaviour. */
type EndpointCall = {
  readonly body: Buffer;
  readonly contentType: string;
  readonly usageJson?: string | undefined;
  readonly chunks?: number | undefined;
};

/** The result of an endpoint. `responseKey` is the key of its signature, for `ZG-Res-Key`. */
export type EndpointAnswer =
  | {
      readonly kind: "whole";
      readonly contentType: string;
      readonly content: string | Buffer;
      readonly responseKey: string;
    }
  | { readonly kind: "events"; readonly events: readonly string[]; readonly responseKey: string }
  | { readonly kind: "refused"; readonly reason: string };

/** An endpoint: it reads a request and generates a response. */
export type Endpoint = (call: EndpointCall) => EndpointAnswer | Promise<EndpointAnswer>;

type Offer = {
  readonly model: string;
  readonly serviceType: ServiceType;
  readonly countTokens: (messages: readonly unknown[]) => number | Promise<number>;
  /** Whether the provider caches prompts, and reports what it read from its cache. */
  readonly cachesPrompts?: boolean;
};

const JSON_TYPE = "application/json";
const DEFAULT_SIDE = 512;
const MAX_SIDE_PIXELS = 2_048;
const MAX_IMAGES = 10;

const size = z.string().regex(/^\d{1,4}x\d{1,4}$/);
const imageRequest = z.object({
  model: z.string(),
  prompt: z.string().min(1),
  n: z.coerce.number().int().min(1).max(MAX_IMAGES).default(1),
  size: z.union([size, z.literal("auto")]).optional(),
});

/** The endpoints of a provider of this service type, by their path. */
export function endpointsOf(offer: Offer): ReadonlyMap<string, Endpoint> {
  const served: Readonly<Record<ServiceType, Readonly<Record<string, Endpoint>>>> = {
    chatbot: {
      "/v1/proxy/chat/completions": chatOf(offer),
      "/v1/proxy/completions": completionsOf(offer),
      "/v1/proxy/messages": messagesOf(offer),
      "/v1/proxy/messages/count_tokens": tokenCountOf(offer),
      "/v1/proxy/responses": responsesOf(offer),
    },
    "text-to-image": { "/v1/proxy/images/generations": imagesOf(offer) },
    "image-editing": { "/v1/proxy/images/edits": editsOf(offer) },
    "speech-to-text": { "/v1/proxy/audio/transcriptions": transcriptionsOf(offer) },
    embedding: { "/v1/proxy/embeddings": embeddingsOf(offer) },
    "text-to-speech": { "/v1/proxy/audio/speech": speechOf(offer) },
    rerank: { "/v1/proxy/rerank": rankingOf(offer) },
  };
  return new Map(Object.entries(served[offer.serviceType]));
}

function chatOf(offer: Offer): Endpoint {
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

function completionsOf(offer: Offer): Endpoint {
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

function messagesOf(offer: Offer): Endpoint {
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

function responsesOf(offer: Offer): Endpoint {
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

function tokenCountOf(offer: Offer): Endpoint {
  return async ({ body }) => {
    const request = readMessagesRequest(body.toString("utf8"));
    if (!request) return refused("not a messages request");
    if (request.model !== offer.model) return notServed(request.model);
    const input_tokens = await offer.countTokens(conversationOf(request));
    return whole(JSON.stringify({ input_tokens }));
  };
}

function imagesOf(offer: Offer): Endpoint {
  return ({ body }) => {
    const request = imageRequest.safeParse(parseJson(body)).data;
    if (!request) return refused("not an image request");
    if (request.model !== offer.model) return notServed(request.model);
    return imageAnswer(request, sizeOf(request.size));
  };
}

function editsOf(offer: Offer): Endpoint {
  return async ({ body, contentType }) => {
    const form = await formOf(body, contentType);
    const image = form && [...form.files].find(([name]) => name === "image" || name === "image[]")?.[1];
    const request = imageRequest.safeParse(form && Object.fromEntries(form.fields)).data;
    if (!request || !image) return refused("not an image edit");
    if (request.model !== offer.model) return notServed(request.model);
    const own = sizeOfPng(image.bytes);
    return imageAnswer(
      request,
      request.size === undefined && own ? bounded(own) : sizeOf(request.size),
      image.bytes,
    );
  };
}

function transcriptionsOf(offer: Offer): Endpoint {
  return async ({ body, contentType }) => {
    const form = await formOf(body, contentType);
    const request = form && readTranscriptionRequest(form);
    if (!request) return refused("not a transcription request");
    if (request.model !== offer.model) return notServed(request.model);
    const transcript = transcribe(request);
    const responseKey = `transcript-${randomUUID()}`;
    return { kind: "whole", contentType: transcript.contentType, content: transcript.text, responseKey };
  };
}

function speechOf(offer: Offer): Endpoint {
  return ({ body }) => {
    const request = readSpeechRequest(parseJson(body));
    if (!request) return refused("not a request for speech");
    if (request.model !== offer.model) return notServed(request.model);
    const { contentType, bytes } = speak(request);
    return { kind: "whole", contentType, content: bytes, responseKey: `speech-${randomUUID()}` };
  };
}

function embeddingsOf(offer: Offer): Endpoint {
  return async ({ body, usageJson }) => {
    const request = readEmbeddingsRequest(parseJson(body));
    if (!request) return refused("not a request for embeddings");
    if (request.model !== offer.model) return notServed(request.model);
    const tokens = await offer.countTokens([{ content: textOf(request) }]);
    return whole(
      await embed(request, usageJson ?? JSON.stringify({ prompt_tokens: tokens, total_tokens: tokens })),
    );
  };
}

function rankingOf(offer: Offer): Endpoint {
  return async ({ body, usageJson }) => {
    const request = readRankingRequest(parseJson(body));
    if (!request) return refused("not a request to rank documents");
    if (request.model !== offer.model) return notServed(request.model);
    const { query, documents } = request;
    // A model reads the query again with each document.
    const tokens =
      documents.length * (await offer.countTokens([{ content: query }])) +
      (await offer.countTokens([{ content: documentsText(request) }]));
    const usage = usageJson ?? JSON.stringify({ prompt_tokens: tokens, total_tokens: tokens });
    const ranking = { id: `rerank-${randomUUID()}`, model: request.model, results: rank(request) };
    return whole(`${JSON.stringify(ranking).slice(0, -1)},"usage":${usage}}`);
  };
}

function imageAnswer(
  { prompt, n }: z.infer<typeof imageRequest>,
  pixels: ImageSize,
  image: Buffer = Buffer.alloc(0),
): EndpointAnswer {
  const data = Array.from({ length: n }, (_, index) => {
    const seed = Buffer.concat([Buffer.from(`${prompt}\n${index}\n`), image]);
    return { b64_json: drawImage(seed, pixels).toString("base64") };
  });
  return whole(JSON.stringify({ created: Math.floor(Date.now() / 1_000), data }));
}

function sizeOf(text: string | undefined): ImageSize {
  const [width = DEFAULT_SIDE, height = DEFAULT_SIDE] = text?.includes("x")
    ? text.split("x").map(Number)
    : [];
  return bounded({ width, height });
}

function bounded({ width, height }: ImageSize): ImageSize {
  const side = (pixels: number) => Math.min(MAX_SIDE_PIXELS, Math.max(1, pixels));
  return { width: side(width), height: side(height) };
}

async function formOf(body: Buffer, contentType: string): Promise<Form | undefined> {
  return contentType.startsWith("multipart/form-data")
    ? readForm(body, contentType).catch(() => undefined)
    : undefined;
}

function parseJson(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString("utf8"));
  } catch {
    return undefined;
  }
}

function whole(text: string): EndpointAnswer {
  return { kind: "whole", contentType: JSON_TYPE, content: text, responseKey: `answer-${randomUUID()}` };
}

function refused(reason: string): EndpointAnswer {
  return { kind: "refused", reason };
}

function notServed(model: string): EndpointAnswer {
  return refused(`model ${model} is not served here`);
}
