import { routes } from "../../../src/rest/routes.ts";
import { MODEL } from "../chain/network.ts";
import type { Seeded } from "../seed.ts";
import { SERVICES } from "../services.ts";
import { toWav } from "./wav.ts";

/** A request that a billed route answers. */
export type BilledSample = {
  readonly body: Readonly<Record<string, unknown>>;
  /** The files of a form; the body has its text fields then. */
  readonly files?: Readonly<Record<string, Uint8Array>>;
  /** The field with the text that a model reads. */
  readonly text: string;
  /** The client's limit on the tokens of an answer that is measured in them. */
  readonly limit?: string;
};

const PNG = Buffer.from("89504e470d0a1a0a", "hex");
const question = [{ role: "user", content: "What is the sea?" }];
const image = { model: SERVICES.images.model, prompt: "a sea", response_format: "b64_json" };
const edit = {
  body: { model: SERVICES.edits.model, prompt: "a sea" },
  files: { image: PNG },
  text: "prompt",
};

/** One request for every billed route, by method and URL. */
export const BILLED: Readonly<Record<string, BilledSample>> = {
  "POST /v1/chat/completions": {
    body: { model: MODEL, messages: question },
    text: "messages",
    limit: "max_tokens",
  },
  "POST /v1/messages": {
    body: { model: SERVICES.messages.model, messages: question, max_tokens: 8 },
    ...{ text: "system", limit: "max_tokens" },
  },
  "POST /v1/responses": {
    body: { model: MODEL, input: "What is the sea?" },
    text: "input",
    limit: "max_output_tokens",
  },
  "POST /v1/completions": {
    body: { model: SERVICES.messages.model, prompt: "The sea is" },
    ...{ text: "prompt", limit: "max_tokens" },
  },
  "POST /v1/embeddings": { body: { model: SERVICES.embeddings.model, input: "a sea" }, text: "input" },
  "POST /v1/rerank": {
    body: { model: SERVICES.rerank.model, query: "a sea", documents: ["water", "wood"] },
    text: "query",
  },
  "POST /v1/images/generations": { body: image, text: "prompt" },
  "POST /v1/async/images/generations": { body: image, text: "prompt" },
  "POST /v1/images/edits": edit,
  "POST /v1/async/images/edits": edit,
  "POST /v1/audio/speech": {
    body: { model: SERVICES.voice.model, input: "a sea", voice: "alloy" },
    text: "input",
  },
  "POST /v1/audio/transcriptions": {
    body: { model: SERVICES.speech.model },
    ...{ files: { file: toWav(1) }, text: "prompt" },
  },
};

/** The routes whose requests are billed, by method and URL. */
export const BILLED_ROUTES: readonly string[] = routes
  .filter(({ isAdmitted }) => isAdmitted)
  .map(({ method, url }) => `${method} ${url}`);

/** Requests that are sent to a provider and not billed, by method and URL. */
export const UNBILLED: typeof BILLED = {
  "POST /v1/messages/count_tokens": {
    body: { model: SERVICES.messages.model, messages: question },
    text: "system",
  },
};

/** The routes with a content that reaches a provider, billed or not, by method and URL. */
export const PROVIDER_ROUTES: readonly string[] = routes
  .filter(({ isAdmitted, takesPrompt, access }) => isAdmitted || takesPrompt || access === "inference.run")
  .map(({ method, url }) => `${method} ${url}`);

/** Sends the request of a route of `BILLED` or `UNBILLED` with these fields instead of its own. */
export function sendBilled(
  origin: string,
  { secret }: Pick<Seeded, "secret">,
  route: string,
  fields: Readonly<Record<string, unknown>> = {},
  headers: Readonly<Record<string, string>> = {},
  query = "",
): Promise<Response> {
  const sample = BILLED[route] ?? UNBILLED[route];
  const [method = "", url] = route.split(" ");
  const path = `${url}${query}`;
  if (!sample) throw new Error(`there is no request for ${route}: add one to BILLED`);
  const body = { ...sample.body, ...fields };
  const authorization = `Bearer ${secret}`;
  if (!sample.files)
    return fetch(`${origin}${path}`, {
      method,
      headers: { authorization, "content-type": "application/json", ...headers },
      body: JSON.stringify(body),
    });
  const form = new FormData();
  for (const [name, value] of Object.entries(body))
    form.set(name, typeof value === "string" ? value : JSON.stringify(value));
  for (const [name, bytes] of Object.entries(sample.files))
    form.set(name, new Blob([Buffer.from(bytes)]), `${name}.bin`);
  return fetch(`${origin}${path}`, { method, headers: { authorization, ...headers }, body: form });
}
