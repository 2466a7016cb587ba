import { addressOf } from "./core/address.ts";

/** What clients of OpenAI's API are configured with. */
export type OpenAiConfig = { readonly baseURL: string; readonly apiKey: string };

/**
 * The settings of `new OpenAI(...)`, of Vercel's `createOpenAICompatible({ name, ...openaiConfig(...) })`, and of
 * others that take a base URL and a key. `url` is the gateway's origin. Throws a `TypeError` for a key of
 * another kind, and an address that is none.
 */
export function openaiConfig({
  url,
  credential,
}: {
  readonly url: string;
  readonly credential: string;
}): OpenAiConfig {
  if (!credential.startsWith("sk-"))
    throw new TypeError(
      "`credential` must be an `sk-` key: other credentials cannot send inference requests.",
    );
  const origin = addressOf(url).replace(/\/(graphql|v1)$/, "");
  return { baseURL: `${origin}/v1`, apiKey: credential };
}
