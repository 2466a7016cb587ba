import { readChatRequest } from "../../../inference/chat-request.ts";
import { permitSpender } from "../../../keys/permissions.ts";
import { defineRoute } from "../../route.ts";
import { readRouting } from "../../routing-headers.ts";
import { CHAT_ANSWER, CHAT_REQUEST } from "./completion-shape.ts";

/** POST /v1/chat/completions (SPEC 4.1): OpenAI's chat, whole or as a stream of events. */
export const chatCompletions = defineRoute({
  method: "POST",
  url: "/v1/chat/completions",
  summary: "Create a chat completion",
  access: "inference.run",
  isAdmitted: true,
  body: "bytes",
  bodies: { "application/json": CHAT_REQUEST },
  answer: CHAT_ANSWER,
  takesPrompt: true,
  repetition: "replayed",
  async handle(app, { principal, body, rawHeaders, requestId, signal }) {
    const wishes = readRouting(rawHeaders, app.config.PLATFORM_WORDS);
    const request = readChatRequest(body);
    const caller = { ...permitSpender(principal, "inference.run"), requestId };
    if (request.stream)
      return { kind: "stream", run: (sink) => app.chat.stream(request, caller, sink, wishes) };
    const completion = await app.chat.complete(request, caller, signal, wishes);
    const headers = completion.responseKey === undefined ? {} : { "zg-res-key": completion.responseKey };
    return { kind: "bytes", bytes: completion.body, headers };
  },
});
