import { rest } from "../support/clients/rest-client.ts";
import { type Plan, randomOf } from "./points.ts";
import { CHAT_MODEL, IMAGE_MODEL } from "./provider.ts";
import type { Tripwire } from "./tripwire.ts";

/** A chat as its client saw it. */
export type SentChat = {
  /** Unique: the provider counts by it. */
  readonly prompt: string;
  readonly tokens: number;
  readonly stream: boolean;
  /** The client leaves after the first bytes. */
  readonly cancels: boolean;
  /** Sent again with the same key after the restart. */
  readonly key: string | undefined;
  requestId?: string;
  /** The complete answer of a 200, with `[DONE]` if it was streamed. */
  answer?: string;
  /** When that was received. */
  answeredMs?: number;
};

/** What the clients of one kill sent and received. */
export type Sent = {
  readonly chats: SentChat[];
  /** The acknowledged image jobs, and how many were sent. */
  readonly jobs: string[];
  submissions: number;
  /** Answers that are not due to the kill. */
  readonly refusals: string[];
};

type Product = { readonly origin: string; readonly secret: string; readonly tripwire: Tripwire };

/** Beyond this many requests of a client the point is not reached any more. */
const MAX_REQUESTS = 500;

/** Sends requests from all lanes of a plan until the product is gone. */
export async function loadUntilGone(product: Product, plan: Plan): Promise<Sent> {
  const sent: Sent = { chats: [], jobs: [], submissions: 0, refusals: [] };
  const lane = async (_: unknown, lane: number) => {
    const random = randomOf(plan.seed * 1_000 + lane);
    for (let n = 0; n < MAX_REQUESTS; n++) {
      const isJob = plan.images && random() < 0.4;
      const isServed = isJob
        ? await submitJob(product, sent, `${plan.point} ${plan.seed}`)
        : await sendNewChat(product, sent, newChat(plan, `${lane}-${n}`, random));
      if (!isServed) return;
    }
    sent.refusals.push(`${plan.point} was not reached by ${MAX_REQUESTS} requests`);
  };
  await Promise.all(Array.from({ length: plan.lanes }, lane));
  return sent;
}

/** A chat of a plan; `name` is unique in it. */
export function newChat(
  { point, seed, maxTokens }: Pick<Plan, "seed" | "maxTokens"> & { readonly point: string },
  name: string,
  random: () => number,
): SentChat {
  const prompt = `${point}, seed ${seed}, request ${name}`;
  const stream = random() < 0.6;
  const tokens = 1 + Math.floor(random() * maxTokens);
  const isKeyed = random() < 0.3;
  const key = isKeyed && !stream ? prompt.replaceAll(/\W/g, "-") : undefined;
  return { prompt, tokens, stream, cancels: stream && random() < 0.25, key };
}

/** Sends a chat and records its answer. Returns whether the product was there to the end of it. */
export async function sendNewChat(product: Product, sent: Sent, chat: SentChat): Promise<boolean> {
  sent.chats.push(chat);
  const gone = new AbortController();
  try {
    const reply = await sendChat(product, chat, gone.signal);
    chat.requestId = reply.headers.get("x-request-id") ?? "";
    if (reply.status !== 200) {
      sent.refusals.push(`${reply.status} ${await reply.text()}`);
      return true;
    }
    const text = await readText(product, chat, reply, gone);
    if (!chat.cancels && (!chat.stream || text.endsWith("data: [DONE]\n\n"))) {
      chat.answer = text;
      chat.answeredMs = performance.now();
    }
    return true;
  } catch {
    return gone.signal.aborted;
  }
}

/** Sends a chat; again, if it has a key that was used. */
export function sendChat(product: Product, chat: SentChat, signal?: AbortSignal): Promise<Response> {
  const { prompt, stream, tokens, key } = chat;
  return fetch(`${product.origin}/v1/chat/completions`, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      authorization: `Bearer ${product.secret}`,
      ...(key !== undefined && { "idempotency-key": key }),
    },
    body: JSON.stringify({
      model: CHAT_MODEL,
      max_tokens: tokens,
      messages: [{ role: "user", content: prompt }],
      ...(stream && { stream }),
    }),
    ...(signal && { signal }),
  });
}

async function readText(
  { tripwire }: Product,
  { cancels }: SentChat,
  reply: Response,
  gone: AbortController,
): Promise<string> {
  let text = "";
  const decoder = new TextDecoder();
  for await (const part of reply.body ?? []) {
    if (text === "") tripwire.note("first byte read");
    text += decoder.decode(part, { stream: true });
    if (cancels) gone.abort();
  }
  return text;
}

async function submitJob({ origin, secret }: Product, sent: Sent, prompt: string): Promise<boolean> {
  sent.submissions++;
  try {
    const reply = await rest<{ jobId: string }>(origin, "/v1/async/images/generations", secret, {
      body: { model: IMAGE_MODEL, prompt },
    });
    if (reply.status === 202) sent.jobs.push(reply.body.jobId);
    else sent.refusals.push(`${reply.status} ${JSON.stringify(reply.body)}`);
    return true;
  } catch {
    return false;
  }
}
