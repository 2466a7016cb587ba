import { z } from "zod";
import type { App } from "../../app.ts";
import { formatHeaders } from "../../inference/messages/format-headers.ts";
import {
  MESSAGES_REQUEST,
  readMessagesRequest,
  readTokenCountRequest,
  TOKEN_COUNT_REQUEST,
} from "../../inference/messages/messages-request.ts";
import { ANTHROPIC_ERROR } from "../errors/anthropic-error.ts";
import { listedHeaders } from "../http/headers.ts";
import { callerOf, inferenceBytes } from "../inference-call.ts";
import { defineRoute, json } from "../route.ts";
import { routingHeaders } from "../routing-headers.ts";
import { count } from "../wire.ts";
import { MESSAGE_ANSWER } from "./messages/message-shape.ts";

/** Anthropic's SDK adds it to beta requests; it is ignored here. */
const beta = z.enum(["true", "false"]).optional();

/** POST /v1/messages (SPEC 4.1): Anthropic's Messages, as one response or a stream of events. */
export const createMessage = defineRoute({
  method: "POST",
  url: "/v1/messages",
  summary: "Create a message",
  access: "inference.run",
  isAdmitted: true,
  hasFallbackModels: true,
  isCached: true,
  errors: "anthropic",
  headers: messagesHeaders,
  query: z.object({ beta }),
  body: "bytes",
  bodies: { "application/json": MESSAGES_REQUEST },
  answer: MESSAGE_ANSWER,
  failure: ANTHROPIC_ERROR,
  takesPrompt: true,
  repetition: "billed",
  async handle(app, call) {
    const caller = callerOf(call);
    const options = call.headers;
    const request = await readMessagesRequest(call.body);
    if (request.stream)
      return { kind: "stream", run: (sink) => app.messages.stream(request, caller, sink, options) };
    return inferenceBytes(await app.messages.create(request, caller, { ...options, signal: call.signal }));
  },
});

/** POST /v1/messages/count_tokens: the token count of a prompt; not billed. */
export const countMessageTokens = defineRoute({
  method: "POST",
  url: "/v1/messages/count_tokens",
  summary: "Count the tokens of a message",
  access: "inference.run",
  errors: "anthropic",
  headers: messagesHeaders,
  query: z.object({ beta }),
  body: "bytes",
  bodies: { "application/json": TOKEN_COUNT_REQUEST },
  answer: { json: z.strictObject({ input_tokens: count }) },
  failure: ANTHROPIC_ERROR,
  takesPrompt: true,
  async handle(app, call) {
    const caller = callerOf(call);
    const options = { ...call.headers, signal: call.signal };
    const prompt = await readTokenCountRequest(call.body);
    return json({ input_tokens: await app.messages.countTokens(prompt, caller, options) });
  },
});

/** The routing preferences, and the format headers for the provider. */
function messagesHeaders(app: App, rawHeaders: readonly string[]) {
  const version = listedHeaders(rawHeaders, "anthropic-version");
  const beta = listedHeaders(rawHeaders, "anthropic-beta");
  return { preferences: routingHeaders(app, rawHeaders), headers: formatHeaders({ version, beta }) };
}
