import { z } from "zod";
import { type Completion, composeCompletion } from "./completion.ts";

const text = z.union([z.string(), z.array(z.int())]);

/** The part of a request for text completions that the stand-in provider reads. */
const schema = z.looseObject({
  model: z.string(),
  prompt: z.union([text, z.array(text).min(1)]),
  suffix: z.string().nullish(),
  stream: z.boolean().nullish(),
  stream_options: z.looseObject({ include_usage: z.boolean().nullish() }).nullish(),
  max_tokens: z.int().min(0),
  n: z.int().min(1).nullish(),
  echo: z.boolean().nullish(),
});

/** A request for text completions. */
export type TextRequest = z.infer<typeof schema>;

/** Reads a request from JSON text; undefined if it is not one. */
export function readTextRequest(json: string): TextRequest | undefined {
  try {
    return schema.safeParse(JSON.parse(json)).data;
  } catch {
    return undefined;
  }
}

/** The prompts as a conversation, by which tokens are counted. */
export function promptMessages({ prompt, suffix }: TextRequest): readonly object[] {
  const content = JSON.stringify(suffix == null ? prompt : [prompt, suffix]);
  return [{ role: "user", content }];
}

/** Generates the same words for each prompt and each of its `n` answers, as many as `max_tokens` allows. */
export function composeText(request: TextRequest, promptTokens: number): Completion {
  const { model, max_tokens, n } = request;
  const messages = [...promptMessages(request)];
  const answers = promptsOf(request).length * (n ?? 1);
  return composeCompletion({ model, messages, max_tokens, n: answers }, promptTokens);
}

/** The whole form: one `text_completion` object, as JSON text. */
export function toTextCompletion(request: TextRequest, head: object, completion: Completion): string {
  const choices = textsOf(request, completion).map((text, index) => ({
    index,
    text,
    logprobs: null,
    finish_reason: completion.finishReason,
  }));
  const json = JSON.stringify({ ...head, object: "text_completion", choices });
  return `${json.slice(0, -1)},"usage":${completion.usageJson}}`;
}

/** The streamed form, one event per answer and token, then the finish reasons, the usage if requested, and `[DONE]`. */
export function toTextEvents(request: TextRequest, head: object, completion: Completion): readonly string[] {
  const { pieces, finishReason, usageJson } = completion;
  const start = JSON.stringify({ ...head, object: "text_completion" }).slice(0, -1);
  const event = (index: number, text: string, reason: string | null) =>
    `data: ${start},"choices":[${JSON.stringify({ index, text, logprobs: null, finish_reason: reason })}]}\n\n`;
  const echoes = textsOf(request, { ...completion, pieces: [] });
  const includeUsage = request.stream_options?.include_usage === true;
  return [
    ...echoes.flatMap((echo, index) => [
      ...(echo === "" ? [] : [event(index, echo, null)]),
      ...pieces.map((piece) => event(index, piece, null)),
      event(index, "", finishReason),
    ]),
    ...(includeUsage ? [`data: ${start},"choices":[],"usage":${usageJson}}\n\n`] : []),
    "data: [DONE]\n\n",
  ];
}

/** The text of each answer, after its prompt if that is echoed. */
function textsOf(request: TextRequest, { pieces }: Pick<Completion, "pieces">): readonly string[] {
  const echo = (prompt: unknown) => (request.echo && typeof prompt === "string" ? prompt : "");
  return promptsOf(request).flatMap((prompt) =>
    Array.from({ length: request.n ?? 1 }, () => echo(prompt) + pieces.join("")),
  );
}

/** A list of tokens is one prompt. */
function promptsOf({ prompt }: TextRequest): readonly unknown[] {
  return Array.isArray(prompt) && typeof prompt[0] !== "number" ? prompt : [prompt];
}
