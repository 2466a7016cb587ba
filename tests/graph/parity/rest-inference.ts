import { type Counterpart, no, openRouterOnly, type Parity, page } from "./counterparts.ts";

const NOT_STREAMED = no("false is the only value");
const BASE64 = no("b64_json is the only value");
const KIND = no("one value: the type of the answer says it");
const RESTATED = no("the provider's own; the bill has the id that the router keeps");

const CHAT_ANSWER: Readonly<Record<string, Counterpart>> = {
  "choices.finish_reason": "ChatChoice.finishReason",
  "choices.index": "ChatChoice.index",
  "choices.message.content": "ChatChoice.text",
  "choices.message.role": no("always assistant"),
  "usage.prompt_tokens": "ChatCompletion.inputTokens",
  "usage.completion_tokens": "ChatCompletion.outputTokens",
  "usage.total_tokens": no("the sum of the two"),
  id: RESTATED,
  created: RESTATED,
};

const MESSAGE = {
  "messages.role": "PromptMessageInput.role",
  "messages.content": "PromptMessageInput.content",
  "messages.content.type": "PromptMessageInput.content",
  beta: no("ignored by REST; `anthropicBeta` names the features"),
};

const IMAGES: Readonly<Record<string, Counterpart>> = {
  created: RESTATED,
  "data.b64_json": "JobImage.b64Json",
  response_format: BASE64,
  stream: NOT_STREAMED,
};

const JOB = {
  "data.data.b64_json": "JobImage.b64Json",
  "data.created": RESTATED,
};

const FILES = no("pages do not read or write files of batches, which may be 100 MiB");
const CHANGES = no("the time of the event with which the status began");
const BATCH: Readonly<Record<string, Counterpart>> = {
  id: "Batch.batchId",
  object: KIND,
  "errors.object": KIND,
  "errors.data.code": "BatchError.code",
  "errors.data.message": "BatchError.message",
  "errors.data.param": "BatchError.param",
  "errors.data.line": "BatchError.line",
  completion_window: no("24 h is the only value"),
  in_progress_at: CHANGES,
  finalizing_at: CHANGES,
  completed_at: CHANGES,
  failed_at: CHANGES,
  expired_at: CHANGES,
  cancelling_at: CHANGES,
  cancelled_at: CHANGES,
  "request_counts.total": "Batch.requestCount",
  "request_counts.completed": "Batch.completedCount",
  "request_counts.failed": "Batch.failedCount",
  "usage.input_tokens": "Batch.inputTokens",
  "usage.input_tokens_details.cached_tokens": "Batch.cachedTokens",
  "usage.output_tokens_details.reasoning_tokens": "Batch.reasoningTokens",
  "usage.output_tokens": "Batch.outputTokens",
  "usage.total_tokens": no("the sum of the two"),
  "usage.cost": "Batch.cost",
};

/** The same members within another. */
function within(path: string, members: Readonly<Record<string, Counterpart>>) {
  return Object.fromEntries(Object.entries(members).map(([name, of]) => [`${path}${name}`, of]));
}

const OFFER: Readonly<Record<string, Counterpart>> = {
  "architecture.modality": no("joins the two lists of modalities"),
  "architecture.input_modalities": "ModelProfile.inputModalities",
  "architecture.output_modalities": "ModelProfile.outputModalities",
  "architecture.tokenizer": "ModelProfile.tokenizer",
  "architecture.instruct_type": "ModelProfile.instructType",
  ...pricing("pricing", "Pricing", "PriceTier"),
  ...pricing("pricing_usd", "PricingUsd", "PriceTierUsd"),
  verifiability: "Provider.verifiability",
};
const MODEL: Readonly<Record<string, Counterpart>> = {
  ...OFFER,
  id: "Model.modelId",
  created: "Model.updatedAt",
  type: "Model.serviceType",
  supported_formats: "Model.supportedFormats",
  provider_count: "Model.providers",
  ...openRouterOnly([
    ...["canonical_slug", "per_request_limits", "supported_voices"],
    ...["links.details", "top_provider.is_moderated"],
  ]),
};

/** A model in the shape of Anthropic's Models API. */
const ANTHROPIC_MODEL: Readonly<Record<string, Counterpart>> = {
  display_name: "Model.name",
  created_at: "Model.updatedAt",
  max_input_tokens: "ModelProfile.contextLength",
  max_tokens: "ModelProfile.maxCompletionTokens",
  lifecycle: no("always active"),
  allowed_fallback_models: no("always empty, required by Anthropic's clients"),
  ...Object.fromEntries(
    ["capabilities", "deprecated_at", "line", "retires_at"].map((name) => [
      name,
      no("always null, required by Anthropic's clients"),
    ]),
  ),
  beta: no("ignored by REST"),
};

/** A page of them, after or before the model with an id. */
const ANTHROPIC_PAGE: Readonly<Record<string, Counterpart>> = {
  ...listed(ANTHROPIC_MODEL),
  ...page("Query.models"),
  after_id: "Query.models(after)",
  before_id: "Query.models(before)",
  has_more: "PageInfo.hasNextPage",
  first_id: "PageInfo.startCursor",
  last_id: "PageInfo.endCursor",
  beta: no("ignored by REST"),
};

/** The prices of an offer: a member `name` in REST, and two types in the graph. */
function pricing(name: string, type: string, tier: string): Readonly<Record<string, Counterpart>> {
  return {
    [`${name}.prompt`]: `${type}.input`,
    [`${name}.completion`]: `${type}.output`,
    [`${name}.image`]: `${type}.output`,
    [`${name}.second`]: `${type}.output`,
    [`${name}.character`]: `${type}.output`,
    [`${name}.cached_prompt`]: `${type}.cachedInput`,
    [`${name}.cache_write`]: `${type}.cacheWrite`,
    [`${name}.cache_write_1h`]: `${type}.cacheWrite1h`,
    [`${name}.tiered_pricing.max_input_tokens`]: `${tier}.maxInputTokens`,
    [`${name}.tiered_pricing.prompt`]: `${tier}.input`,
    [`${name}.tiered_pricing.completion`]: `${tier}.output`,
    [`${name}.tiered_pricing.cached_prompt`]: `${tier}.cachedInput`,
  };
}

/** The members of all items of a list. */
function listed(members: Readonly<Record<string, Counterpart>>): Readonly<Record<string, Counterpart>> {
  return Object.fromEntries(Object.entries(members).map(([name, found]) => [`data.${name}`, found]));
}

/** Requests to providers, their jobs and receipts, and what providers offer. */
export const INFERENCE: Readonly<Record<string, Parity>> = {
  "POST /v1/chat/completions": {
    fields: ["Mutation.completeChat", "Subscription.completeChat"],
    types: ["CompleteChatInput"],
    members: {
      ...CHAT_ANSWER,
      "messages.role": "ChatMessageInput.role",
      model: "CompleteChatInput.model",
      max_completion_tokens: "CompleteChatInput.options",
      metadata: "CompleteChatInput.tags",
      n: "CompleteChatInput.options",
      prompt_cache_key: "CompleteChatInput.options",
      user: "CompleteChatInput.options",
      stream: "Subscription.completeChat",
      "stream_options.include_usage": no("a stream always ends with its usage and its bill"),
      "usage.include": no("a stream always ends with its usage and its bill"),
    },
  },
  "POST /v1/responses": no(
    "a chat in the shape that OpenAI's clients expect; in the graph it is completeChat",
  ),
  "POST /v1/completions": no("legacy: frontends talk to models in chats, which completeChat runs"),
  "POST /v1/messages": {
    fields: ["Mutation.createMessage", "Subscription.createMessage"],
    types: ["CreateMessageInput", "Message"],
    members: {
      ...MESSAGE,
      stream: "Subscription.createMessage",
      "system.type": "CreateMessageInput.system",
      "content.type": "Message.content",
      "usage.input_tokens": "Message.inputTokens",
      "usage.output_tokens": "Message.outputTokens",
      id: RESTATED,
      type: KIND,
      role: no("always assistant"),
    },
  },
  "POST /v1/messages/count_tokens": {
    fields: ["Query.messageTokenCount"],
    types: ["MessageTokenCountInput", "MessageTokenCount"],
    members: {
      ...MESSAGE,
      "system.type": "MessageTokenCountInput.system",
      verify_tee: no("a count is not signed"),
    },
  },
  "POST /v1/images/generations": {
    fields: ["Mutation.generateImages"],
    types: ["GenerateImagesInput"],
    members: IMAGES,
  },
  "POST /v1/images/edits": {
    fields: ["Mutation.editImages"],
    types: ["EditImagesInput"],
    members: { ...IMAGES, image: "EditImagesInput.images" },
  },
  "POST /v1/async/images/generations": {
    fields: ["Mutation.submitImageJob"],
    types: ["SubmitImageJobInput", "ImageJob"],
    members: { response_format: BASE64, stream: NOT_STREAMED },
  },
  "POST /v1/async/images/edits": {
    fields: ["Mutation.submitImageEditJob"],
    types: ["SubmitImageEditJobInput", "ImageJob"],
    members: { response_format: BASE64, stream: NOT_STREAMED, image: "SubmitImageEditJobInput.images" },
  },
  "GET /v1/async/jobs": {
    fields: ["Query.imageJobs", "Subscription.imageJobChanged"],
    types: ["ImageJob"],
    members: {
      ...page("Query.imageJobs"),
      status: "ImageJobFilterInput.statuses",
      "data.status": "ImageJob.status",
    },
  },
  "GET /v1/async/jobs/{jobId}": {
    fields: ["Query.imageJob", "Subscription.imageJobProgress"],
    types: ["ImageJob"],
    members: {
      ...JOB,
      model: no("sent by clients of providers; ignored by REST"),
      verify_tee: "SubmitImageJobInput.verifyTee",
    },
  },
  "DELETE /v1/async/jobs/{jobId}": {
    fields: ["Mutation.cancelImageJob"],
    types: ["ImageJob"],
    members: JOB,
  },
  "POST /v1/files": FILES,
  "GET /v1/files": FILES,
  "GET /v1/files/{id}": FILES,
  "GET /v1/files/{id}/content": FILES,
  "DELETE /v1/files/{id}": FILES,
  "POST /v1/batches": no("a batch needs a file, which is uploaded over REST"),
  "GET /v1/batches": {
    fields: ["Query.batches", "Subscription.batchChanged"],
    types: ["Batch"],
    members: {
      limit: "Query.batches(first)",
      after: "Query.batches(after)",
      first_id: "PageInfo.startCursor",
      last_id: "PageInfo.endCursor",
      has_more: "PageInfo.hasNextPage",
      ...within("data.", BATCH),
    },
  },
  "GET /v1/batches/{id}": {
    fields: ["Query.batch", "Subscription.batchProgress"],
    types: ["Batch"],
    members: BATCH,
  },
  "POST /v1/batches/{id}/cancel": { fields: ["Mutation.cancelBatch"], types: ["Batch"], members: BATCH },
  "POST /v1/audio/transcriptions": {
    fields: ["Mutation.transcribeAudio"],
    types: ["TranscribeAudioInput", "Transcription"],
    members: {
      file: "TranscribeAudioInput.fileBase64",
      response_format: "TranscribeAudioInput.format",
      stream: NOT_STREAMED,
      duration: "Transcription.durationSeconds",
      "usage.seconds": "Transcription.billedSeconds",
      "usage.type": no("always duration"),
    },
  },
  "POST /v1/embeddings": {
    fields: ["Mutation.createEmbeddings"],
    types: ["CreateEmbeddingsInput"],
    members: {
      input: "CreateEmbeddingsInput.texts",
      encoding_format: no("always base64: long lists of numbers would block the event loop"),
      "data.embedding": "Embeddings.vectors",
      "usage.prompt_tokens": "Embeddings.inputTokens",
    },
  },
  "POST /v1/audio/speech": {
    fields: ["Mutation.createSpeech"],
    types: ["CreateSpeechInput"],
    members: {
      input: "CreateSpeechInput.text",
      "voice.id": no("a member of `options`"),
      response_format: "CreateSpeechInput.format",
      stream_format: no("audio is the only value"),
    },
  },
  "POST /v1/rerank": {
    fields: ["Mutation.rerankDocuments"],
    types: ["RerankDocumentsInput", "RankedDocument"],
    members: {
      "documents.text": "RerankDocumentsInput.documents",
      return_documents: no("the client has the documents, and `index` says which"),
      "results.index": "RankedDocument.index",
      "results.relevance_score": "RankedDocument.relevanceScore",
      "usage.prompt_tokens": "Ranking.inputTokens",
      "usage.total_tokens": no("equal to prompt_tokens"),
      id: RESTATED,
    },
  },
  "GET /v1/receipts/checkpoint": { fields: ["ReceiptLog.treeHead"] },
  "GET /v1/receipts/consistency": {
    fields: ["ReceiptLog.consistencyProof"],
    types: ["ConsistencyProof"],
  },
  "GET /v1/receipts/key": {
    fields: ["Query.receiptLog"],
    types: ["ReceiptLog"],
    members: { name: "ReceiptLog.origin" },
  },
  "GET /v1/receipts/{requestId}": {
    fields: ["Query.receipt", "InferenceRequest.receipt"],
    types: ["Receipt"],
    members: {
      "log.leaf_index": "Receipt.leafIndex",
      "log.tree_size": "InclusionProof.treeSize",
      "log.inclusion_proof": "InclusionProof.hashes",
      "log.checkpoint": "InclusionProof.checkpoint",
      "provider_signature.text": "Evidence.text",
      "provider_signature.signature": "Evidence.signature",
      "provider_signature.signing_address": "Evidence.signer",
      "receipt.*": "Receipt.canonicalJson",
    },
  },
  "POST /v1/routing/preview": {
    fields: ["Query.routingPreview"],
    members: {
      service_type: "Query.routingPreview(serviceType)",
      model: "Query.routingPreview(model)",
      max_tokens: "Query.routingPreview(maxTokens)",
      max_completion_tokens: "Query.routingPreview(maxTokens)",
      n: "Query.routingPreview(n)",
      prompt_cache_key: "RoutingInput.sessionId",
      user: "RoutingInput.sessionId",
      "messages.role": "ChatMessageInput.role",
      "providers.address": "Provider.address",
      "providers.endpoint": "Provider.url",
      "providers.model_id": "Provider.models",
      "refused.provider": "ExcludedProvider.providerAddress",
      "refused.reason": "ExcludedProvider.reason",
      "refused.model": "ExcludedProvider.modelId",
    },
  },
  "GET /v1/models": {
    fields: ["Query.models"],
    types: ["Model", "ModelProfile"],
    members: {
      ...listed(MODEL),
      provider_address: "ModelFilterInput.providerAddresses",
      "provider_address[]": "ModelFilterInput.providerAddresses",
      input_modality: "ModelFilterInput.inputModalities",
      "input_modality[]": "ModelFilterInput.inputModalities",
      supported_parameter: "ModelFilterInput.supportedParameters",
      "supported_parameter[]": "ModelFilterInput.supportedParameters",
      pricing: "Model.pricingUsd",
      legacy: no("ignored by REST"),
      total_count: no("the list has one page"),
      "links.next": no("the list has one page"),
      ...ANTHROPIC_PAGE,
    },
  },
  "GET /v1/models/{model}": {
    fields: ["Query.model"],
    types: ["Model", "ModelProfile"],
    members: { ...MODEL, ...ANTHROPIC_MODEL },
  },
  "GET /v1/providers": {
    fields: ["Query.providers", "Query.provider"],
    types: ["Provider", "ModelProfile"],
    members: {
      ...listed(OFFER),
      service_type: "ProviderFilterInput.serviceTypes",
      model: "ProviderFilterInput.modelId",
      model_id: "ProviderFilterInput.modelId",
      "data.type": "Provider.serviceType",
      "data.model_id": "Model.modelId",
      "data.is_healthy": "ProviderHealth.circuit",
      "data.latency": "ProviderHealth.latencyMs",
      "data.uptime": "ProviderHealth.uptimePercent",
      "data.supported_formats": "ModelProfile.formats",
      "data.tee_acknowledged": "InferenceService.teeAcknowledged",
      "data.serving_domain": no("the host of `Provider.url`"),
    },
  },
  "GET /v1/service-types": { fields: ["Query.serviceTypes"], types: ["ServiceTypeCount"] },
};
