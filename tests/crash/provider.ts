import { setTimeout as sleep } from "node:timers/promises";
import { done, type JobBroker, startJobBroker, working } from "../support/chain/job-broker.ts";
import {
  type Call,
  completion,
  DONE,
  event,
  openStream,
  ROLE,
  type Script,
  sendJson,
  startScripted,
} from "../support/inference/scripted-provider.ts";
import type { OnEnd } from "../support/servers/database.ts";
import type { Tripwire } from "./tripwire.ts";

export const CHAT_MODEL = "crash-chat";
export const IMAGE_MODEL = "crash-images";
const PRICES = { prompt: 2n, completion: 3n, image: 100n } as const;
const PROMPT_TOKENS = 9;

/** Both providers of a run, and what they were asked. */
export type CrashProviders = {
  /** The content of PROVIDERS_FILE. */
  readonly file: string;
  /** How often the provider received a prompt. */
  readonly received: ReadonlyMap<string, number>;
  /** The prompts that were run again, for a client that repeated them with their key after a kill. */
  readonly repeated: Set<string>;
  readonly broker: JobBroker;
  /** The pause for each token of an answer, streamed or not. */
  chunkPauseMs: number;
};

/** The price of a chat with so many tokens in its answer, and in its prompt by default what the provider counts. Neuron. */
export function chatCost(outputTokens: number, inputTokens = PROMPT_TOKENS): bigint {
  return BigInt(inputTokens) * PRICES.prompt + BigInt(outputTokens) * PRICES.completion;
}

/** The price of an image job, neuron. */
export const IMAGE_COST = PRICES.image;

/** Starts a provider of chats, which answers with `max_tokens` words, and one of image jobs. */
export async function startCrashProviders(tripwire: Tripwire, onEnd: OnEnd): Promise<CrashProviders> {
  const scripted = await startScripted();
  onEnd(() => scripted.stop());
  const broker = await startJobBroker(onEnd, {
    submission() {
      tripwire.note("job received");
      return undefined;
    },
    poll(n) {
      tripwire.note(n === 0 ? "job polled" : "result sent");
      return n === 0 ? working(0.5) : done();
    },
  });
  const received = new Map<string, number>();
  const server = (name: string, url: string, model: object) => ({ name, url, models: [model] });
  const pricing = { prompt: String(PRICES.prompt), completion: String(PRICES.completion) };
  const image = { service_type: "text-to-image", pricing: { image: String(PRICES.image) } };
  const providers = [
    server("chats", scripted.url, { id: CHAT_MODEL, pricing }),
    server("images", broker.url, { id: IMAGE_MODEL, ...image }),
  ];
  const all = {
    file: JSON.stringify({ providers }),
    received,
    repeated: new Set<string>(),
    broker,
    chunkPauseMs: 0,
  };
  scripted.scripts.set(CHAT_MODEL, async (call, response) => {
    const prompt = promptOf(call);
    received.set(prompt, (received.get(prompt) ?? 0) + 1);
    tripwire.note("chat received");
    response.once("finish", () => tripwire.note("last byte sent"));
    await answer(call, response, all.chunkPauseMs);
  });
  return all;
}

async function answer({ body }: Call, response: Parameters<Script>[1], chunkPauseMs: number): Promise<void> {
  const tokens = Number(body.max_tokens);
  const usage = {
    prompt_tokens: PROMPT_TOKENS,
    completion_tokens: tokens,
    total_tokens: PROMPT_TOKENS + tokens,
  };
  if (!body.stream) {
    if (chunkPauseMs > 0) await sleep(chunkPauseMs * tokens);
    const message = { role: "assistant", content: "word ".repeat(tokens) };
    return sendJson(
      response,
      200,
      completion({ choices: [{ index: 0, message, finish_reason: "stop" }], usage }),
    );
  }
  openStream(response).write(ROLE);
  for (let token = 0; token < tokens && !response.destroyed; token++) {
    response.write(event({ delta: { content: "word " } }));
    if (chunkPauseMs > 0) await sleep(chunkPauseMs);
  }
  response.end(event({ delta: {}, finish_reason: "stop" }) + event(undefined, { usage }) + DONE);
}

function promptOf({ body }: Call): string {
  const [message] = body.messages as readonly { readonly content: string }[];
  return message?.content ?? "";
}
