import type { Tags } from "../../accounts/tags/tags.ts";
import { AppError } from "../../kernel/errors.ts";
import type { Caller } from "../billing/admitted.ts";
import type { ShownAnswer } from "../chat/answer-edits.ts";
import type { ChatService } from "../chat/chat.service.ts";
import { readChatRequest } from "../chat/chat-request.ts";
import { readCompletionsRequest } from "../completions/completions-request.ts";
import type { EmbeddingsService } from "../embeddings/embeddings.service.ts";
import { readEmbeddingsRequest } from "../embeddings/embeddings-request.ts";
import type { ResponsesService } from "../responses/responses.service.ts";
import { readResponsesRequest } from "../responses/responses-request.ts";
import type { BatchEndpoint } from "./batch.ts";

/** The services that run requests, whose money is that of lines. */
type Dependencies = {
  readonly chat: Pick<ChatService, "complete">;
  readonly completions: Pick<ChatService, "complete">;
  readonly responses: Pick<ResponsesService, "create">;
  readonly embeddings: Pick<EmbeddingsService, "create">;
};

/** Runs the request of a line like the same request to its endpoint. */
export class LineRequestsService {
  readonly #dependencies: Dependencies;

  constructor(dependencies: Dependencies) {
    this.#dependencies = dependencies;
  }

  /** Returns the whole answer once it is billed and recorded. Throws what the services throw, and `invalid_body`. */
  async run(
    endpoint: BatchEndpoint,
    body: Buffer,
    caller: Caller,
    signal: AbortSignal,
  ): Promise<ShownAnswer> {
    const { chat, completions, responses, embeddings } = this.#dependencies;
    const options = { signal, preferences: {} };
    switch (endpoint) {
      case "/v1/chat/completions": {
        const request = whole(await readChatRequest(body));
        return chat.complete(request, tagged(caller, request.tags), signal);
      }
      case "/v1/completions":
        return completions.complete(whole(await readCompletionsRequest(body)), caller, signal);
      case "/v1/responses": {
        const request = await readResponsesRequest(body);
        whole(request.chat);
        return responses.create(request, tagged(caller, request.chat.tags), options);
      }
      case "/v1/embeddings":
        return embeddings.create(await readEmbeddingsRequest(body), caller, options);
    }
  }
}

/** The caller with the tags in the `metadata` of a line, which has no headers. */
function tagged(caller: Caller, tags: Tags | undefined): Caller {
  return tags ? { ...caller, tags } : caller;
}

function whole<Request extends { readonly stream: boolean }>(request: Request): Request {
  if (!request.stream) return request;
  throw new AppError("invalid_body", "stream: a request of a batch cannot be streamed", { param: "stream" });
}
