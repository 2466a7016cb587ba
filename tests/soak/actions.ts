import { randomBytes } from "node:crypto";
import { CHAT_MODEL, IMAGE_MODEL } from "../crash/provider.ts";
import type { Customer } from "../process/split/split-product.ts";
import { ask, followEvents, followSocket } from "../support/clients/graph-client.ts";
import type { startPublisher } from "../support/storage/publisher.ts";
import { until } from "../support/until.ts";

/** What an action needs: the product, one of its customers, and the number of the action. */
export type Turn = {
  readonly origin: string;
  readonly customer: Customer;
  readonly n: number;
  readonly publisher: Awaited<ReturnType<typeof startPublisher>>;
  readonly record: TrafficRecord;
};

/** What the actions have done so far. */
export type TrafficRecord = {
  /** The requests that were answered completely, each of which is billed. */
  billed: number;
  /** The streams that their client left, each of which may be billed. */
  left: number;
  /** The roots of uploaded files, and their bytes. */
  readonly roots: string[];
  uploadedBytes: number;
};

/** The product is too busy: the client may try again. */
export class RefusedError extends Error {
  override readonly name = "RefusedError";
}

const SMALL_FILE_BYTES = 20_000;
const LARGE_FILE_BYTES = 2 * 262_144 + 1_000;
const LIVE_BALANCE = "subscription { balanceChanged { cursor cause balance { available held } } }";

/** One client at work, by what it does. */
export const ACTIONS = {
  chat: (turn: Turn) => chat(turn, false),
  stream: (turn: Turn) => chat(turn, true),
  async query({ origin, customer, n }: Turn) {
    const { status, errors } = await ask(origin, customer.managementKey, queryOf(n));
    if (errors?.some(({ extensions }) => extensions?.code === "unavailable")) throw new RefusedError();
    if (status !== 200 || errors) throw new Error(`query: ${status} ${JSON.stringify(errors)}`);
  },
  subscribe: (turn: Turn) => subscribe(turn),
  image: (turn: Turn) => createImage(turn),
  async upload({ publisher, n, record }: Turn) {
    const content = randomBytes(n % 10 === 0 ? LARGE_FILE_BYTES : SMALL_FILE_BYTES);
    const { root } = await publisher.publish(content);
    record.roots.push(root);
    record.uploadedBytes += content.length;
  },
  async download({ origin, n, record: { roots } }: Turn) {
    const root = roots[n % Math.max(1, roots.length)];
    if (root !== undefined) await (await answered(fetch(`${origin}/file?root=${root}`))).arrayBuffer();
  },
} as const;

async function chat({ origin, customer, n, record }: Turn, stream: boolean): Promise<void> {
  const isLeft = stream && n % 10 === 0;
  const leaving = new AbortController();
  const headers: Record<string, string> = {
    "content-type": "application/json",
    authorization: `Bearer ${customer.secret}`,
  };
  if (!stream && n % 20 === 0) headers["idempotency-key"] = `soak-${n}`;
  const content = `Question ${n}: what is the sea? `.repeat(1 + (n % 8));
  const body = { model: CHAT_MODEL, max_tokens: 1 + (n % 40), stream, messages: [{ role: "user", content }] };
  const reply = await answered(
    fetch(`${origin}/v1/chat/completions`, {
      ...{ method: "POST", headers, body: JSON.stringify(body), signal: leaving.signal },
    }),
  );
  if (!isLeft) {
    const text = await reply.text();
    if (stream && !text.endsWith("data: [DONE]\n\n")) throw new Error(`a stream broke: ${text.slice(-200)}`);
    record.billed += 1;
    return;
  }
  record.left += 1;
  for await (const _ of reply.body ?? []) break;
  leaving.abort();
}

/** Subscribes; leaves at once, or after an event that it causes. */
async function subscribe(turn: Turn): Promise<void> {
  const { origin, customer, n } = turn;
  const following =
    n % 2 === 0
      ? await followEvents(origin, customer.managementKey, LIVE_BALANCE)
      : await followSocket(origin, customer.managementKey, LIVE_BALANCE);
  try {
    if (n % 3 === 0) return;
    await chat({ ...turn, n: 1 }, false);
    await until(() => following.results.length > 0);
  } finally {
    await following.stop();
  }
}

async function createImage({ origin, customer, n, record }: Turn): Promise<void> {
  const headers = { "content-type": "application/json", authorization: `Bearer ${customer.secret}` };
  const body = JSON.stringify({ model: IMAGE_MODEL, prompt: `a picture of wave ${n}` });
  const reply = await answered(
    fetch(`${origin}/v1/async/images/generations`, { method: "POST", headers, body }),
    202,
  );
  const { jobId } = (await reply.json()) as { jobId: string };
  const query = `subscription { imageJobProgress(id: "${jobId}") { cursor status } }`;
  const following = await followEvents(origin, customer.secret, query);
  await until(() =>
    following.results.some(({ data }) => data?.imageJobProgress.status === "COMPLETED"),
  ).finally(() => following.stop());
  record.billed += 1;
}

/** Half of them differ in their text, as those of clients that write values into it. */
function queryOf(n: number): string {
  const texts = [
    "{ viewer { kind account { address balance { available held } } } }",
    `{ viewer { account { requests(first: ${1 + (n % 20)}) { nodes { id status modelId cost { total } provider { address trustMode } } } } } }`,
    "{ viewer { account { usage { stats { requestCount inputTokens outputTokens cost } daily { date modelId stats { requestCount cost } } } } } }",
    `{ eventCursor models(first: ${1 + (n % 10)}) { nodes { id } } }`,
  ];
  return texts[n % texts.length] ?? "";
}

async function answered(sent: Promise<Response>, expected = 200): Promise<Response> {
  const reply = await sent;
  if (reply.status === expected) return reply;
  const text = await reply.text();
  if (reply.status === 503) throw new RefusedError(text);
  throw new Error(`${new URL(reply.url).pathname}: ${reply.status} ${text.slice(0, 300)}`);
}
