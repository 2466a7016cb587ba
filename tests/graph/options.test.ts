// @module-tag large
import { describe, expect, test } from "vitest";
import { drawImage } from "../../src/devnet/provider/endpoints/image.ts";
import { MODEL } from "../support/chain/network.ts";
import { ask } from "../support/clients/graph-client.ts";
import { seedAccount } from "../support/seed.ts";
import { SERVICES, useServices } from "../support/services.ts";
import { useStack } from "../support/stack.ts";

const stack = useStack();
useServices(stack, ["messages", "images", "edits", "embeddings", "voice", "rerank"]);
const PNG = drawImage("a sea", { width: 8, height: 8 }).toString("base64");

/** The mutations with `options`: the type of their input, an input, and a member whose value is refused. */
const MUTATIONS = [
  [
    "completeChat",
    "CompleteChatInput",
    { model: MODEL, messages: [{ role: "user", content: "hi" }], maxTokens: 3 },
    { n: 0 },
  ],
  [
    "createMessage",
    "CreateMessageInput",
    { model: SERVICES.messages.model, messages: [{ role: "USER", content: "hi" }], maxTokens: 3 },
    { temperature: "hot" },
  ],
  [
    "generateImages",
    "GenerateImagesInput",
    { model: SERVICES.images.model, prompt: "a sea", size: "8x8" },
    { response_format: "url" },
  ],
  [
    "submitImageJob",
    "SubmitImageJobInput",
    { model: SERVICES.images.model, prompt: "a sea", size: "8x8" },
    { n: 99 },
  ],
  [
    "editImages",
    "EditImagesInput",
    { model: SERVICES.edits.model, prompt: "a sea", images: [{ fileBase64: PNG }] },
    { response_format: "url" },
  ],
  [
    "createEmbeddings",
    "CreateEmbeddingsInput",
    { model: SERVICES.embeddings.model, texts: ["a sea"] },
    { user: 5 },
  ],
  [
    "createSpeech",
    "CreateSpeechInput",
    { model: SERVICES.voice.model, text: "a sea", voice: "a" },
    { stream_format: "sse" },
  ],
  [
    "rerankDocuments",
    "RerankDocumentsInput",
    { model: SERVICES.rerank.model, query: "sea", documents: ["a"] },
    { max_tokens_per_doc: "x" },
  ],
] as const;

async function errorsOf(field: string, type: string, input: object) {
  const { secret } = await seedAccount(stack().app.database, 10n ** 9n);
  const query = `mutation ($input: ${type}!) { ${field}(input: $input) { userErrors { field message code } } }`;
  const { data, errors } = await ask(stack().origin, secret, query, { input });
  return { userErrors: data?.[field]?.userErrors, errors };
}

describe.each(MUTATIONS)("the options of %s", (field, type, input, wrong) => {
  test.each([["text"], [5], [[]], [true]])("are refused as %j, and nothing is billed", async (options) => {
    const { userErrors } = await errorsOf(field, type, { ...input, options });
    expect(userErrors).toMatchObject([{ field: "options", code: "invalid_body" }]);
  });

  test("name the member at fault as the client sent it", async () => {
    const { userErrors, errors } = await errorsOf(field, type, { ...input, options: wrong });
    // What a provider may accept is passed on.
    if (userErrors?.length === 0)
      return expect(field).toMatch(/createMessage|createEmbeddings|rerankDocuments/);
    expect(errors).toBeUndefined();
    expect(userErrors).toMatchObject([{ field: `options.${Object.keys(wrong)[0]}` }]);
  });

  test("with tens of thousands of members are refused", async () => {
    const options = Object.fromEntries(Array.from({ length: 45_000 }, (_, at) => [at.toString(36), 1]));
    const { errors } = await errorsOf(field, type, { ...input, options });
    expect(errors).toMatchObject([{ extensions: { code: "invalid_body" } }]);
  });
});
