import type { InferenceRequest } from "../../../src/inference/requests/requests.service.ts";
import { MODEL } from "../chain/network.ts";
import type { Seeded } from "../seed.ts";
import type { Stack } from "../stack.ts";

/** The header of a client that accepts a stored answer. */
export const CACHE = { "X-0G-Cache": "600" };

/** The body of a chat with these fields instead of its own. */
export const chatBody = (fields: object = {}) => ({
  model: MODEL,
  messages: [{ role: "user", content: "What is the sea?" }],
  max_tokens: 12,
  ...fields,
});

/** Sends a chat, or this text as its body. */
export function chat(
  { origin }: Stack,
  { secret }: Pick<Seeded, "secret">,
  fields: object | string = {},
  headers: Record<string, string> = CACHE,
): Promise<Response> {
  return fetch(`${origin}/v1/chat/completions`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${secret}`, ...headers },
    body: typeof fields === "string" ? fields : JSON.stringify(chatBody(fields)),
  });
}

type Answered = {
  readonly error: { readonly code: string; readonly param: string };
  readonly x_0g_trace: {
    readonly billing: { readonly total_cost: string };
    readonly tee_verified?: boolean;
    readonly cached_from?: string;
  };
};

/** The body of an answer. */
export const readAnswer = async (reply: Response) => (await reply.json()) as Answered;

/** What came of the cache request of an answer. */
export const useOf = ({ headers }: Response) => headers.get("x-0g-cache");

/** The requests of an account, oldest first. */
export async function rowsOf({ app }: Stack, { account }: Seeded): Promise<readonly InferenceRequest[]> {
  return (await app.requests.list(account, { first: 100 })).rows.toReversed();
}

/** The stored answers of an account, oldest first. */
export const stored = ({ app }: Stack, { account }: Seeded) =>
  app.database.rows<{ name: string; bytes: number; sealed: string }>(
    `select name, size_bytes as bytes, encode(sealed, 'base64') as sealed from cached_answer
     where account = $1::text order by created_at`,
    [account],
  );
