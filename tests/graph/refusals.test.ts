import { expect, test } from "vitest";
import { ask } from "../support/clients/graph-client.ts";
import { sendJson } from "../support/inference/scripted-provider.ts";
import { useRouter } from "../support/router.ts";

const router = await useRouter({ models: ["chat"], count: 1 });
const REFUSAL = "I cannot help with that.";

test("a refusal, which is billed, is the text of the choice", async () => {
  const { origin, scripted, seed } = router();
  const message = { role: "assistant", content: null, refusal: REFUSAL };
  const choices = [{ index: 0, message, finish_reason: "stop" }];
  const usage = { prompt_tokens: 9, completion_tokens: 6, total_tokens: 15 };
  scripted[0]?.scripts.set("chat", (_, response) =>
    sendJson(response, 200, {
      id: "a",
      object: "chat.completion",
      created: 1,
      model: "chat",
      choices,
      usage,
    }),
  );
  const { secret } = await seed();
  const input = 'input: { model: "chat", messages: [{ role: "user", content: "a" }] }';
  const query = `mutation { completeChat(${input}) { completion { choices { text finishReason } outputTokens } } }`;
  const { data } = await ask(origin, secret, query);
  expect(data.completeChat.completion).toEqual({
    choices: [{ text: REFUSAL, finishReason: "stop" }],
    outputTokens: 6,
  });
});
