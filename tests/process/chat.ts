import { countPromptTokens } from "../../src/inference/billing/tokens.ts";
import { INPUT_PRICE, MODEL, OUTPUT_PRICE } from "../support/chain/network.ts";

/** The prompt of the chats of these tests, and the price of their answers in neuron. */
export const QUESTION = [{ role: "user" as const, content: "What is the sea?" }];

/** The price of an answer to `QUESTION` with so many tokens. */
export function priceOf(outputTokens: number): bigint {
  return BigInt(countPromptTokens(QUESTION)) * INPUT_PRICE + BigInt(outputTokens) * OUTPUT_PRICE;
}

/** Sends `QUESTION` to a gateway. */
export function chat(origin: string, secret: string, body: object = {}): Promise<Response> {
  return fetch(`${origin}/v1/chat/completions`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${secret}` },
    body: JSON.stringify({ model: MODEL, messages: QUESTION, ...body }),
  });
}
