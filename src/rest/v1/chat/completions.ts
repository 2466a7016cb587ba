import { CHAT_REQUEST, readChatRequest } from "../../../inference/chat/chat-request.ts";
import { callerOf, inferenceBytes } from "../../inference-call.ts";
import { defineRoute } from "../../route.ts";
import { routingHeaders } from "../../routing-headers.ts";
import { CHAT_ANSWER } from "./completion-shape.ts";

/** POST /v1/chat/completions (SPEC 4.1): OpenAI's chat completion, as one response or a stream of events. */
export const chatCompletions = defineRoute({
  method: "POST",
  url: "/v1/chat/completions",
  summary: "Create a chat completion",
  access: "inference.run",
  isAdmitted: true,
  hasFallbackModels: true,
  isCached: true,
  headers: routingHeaders,
  body: "bytes",
  bodies: { "application/json": CHAT_REQUEST },
  answer: CHAT_ANSWER,
  takesPrompt: true,
  repetition: "billed",
  async handle(app, call) {
    const { headers: preferences, signal } = call;
    const request = await readChatRequest(call.body);
    const caller = callerOf(call, { metadata: request.tags });
    if (request.stream)
      return { kind: "stream", run: (sink) => app.chat.stream(request, caller, sink, preferences) };
    const completion = await app.chat.complete(request, caller, signal, preferences);
    return inferenceBytes(completion);
  },
});
