import { expect, test } from "vitest";
import { readChatRequest } from "../../../src/inference/chat/chat-request.ts";
import { readCompletionsRequest } from "../../../src/inference/completions/completions-request.ts";
import { readMessagesRequest } from "../../../src/inference/messages/messages-request.ts";

const messages = [{ role: "user", content: "a" }];

test.each([
  ["a chat", "stop", readChatRequest, { messages }],
  ["a text completion", "stop", readCompletionsRequest, { prompt: "a" }],
  ["a message", "stop_sequences", readMessagesRequest, { messages, max_tokens: 1 }],
] as const)("%s has at most 64 stop sequences", async (_what, field, read, fields) => {
  const readWith = (stop: unknown) =>
    read(Buffer.from(JSON.stringify({ model: "m", ...fields, [field]: stop })));
  for (const stop of [undefined, null, "a", ["a"], Array(64).fill("a")])
    expect((await readWith(stop)).fields[field]).toEqual(stop);
  await expect(readWith(Array(65).fill("a"))).rejects.toMatchObject({
    code: "invalid_body",
    param: field,
    message: `${field}: must have at most 64 items`,
  });
});
