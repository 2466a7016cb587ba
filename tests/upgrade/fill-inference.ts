import { toWav } from "../support/inference/wav.ts";
import { until } from "../support/until.ts";
import { call, query, type Target } from "./calls.ts";
import type { FilledAccount, SmallAccount } from "./fill-accounts.ts";
import { BROKEN_MODEL, HANGING_MODEL, JOB_MODEL, JOB_PROMPTS } from "./scripted-network.ts";

/** The ids of image jobs, by their state when the release stopped. */
export type FilledJobs = Readonly<
  Record<"completed" | "failed" | "cancelled" | "pending" | "processing", string>
>;

const CHAT = { model: "devnet-chat", messages: [{ role: "user", content: "Tell me of the sea" }] };
/** Requests that were sent with an `Idempotency-Key`, to be sent again by the next version. */
export const REPEATED = {
  chat: { path: "/v1/chat/completions", key: "upgrade chat", body: { ...CHAT, max_tokens: 20 } },
  apiKey: { path: "/v1/api-keys", key: "upgrade key", body: { name: "made once" } },
} as const;

/** Chats, messages, images and audio that were answered, and some that were not. */
export async function fillRequests(target: Target, { apiKeys, managementKeys }: FilledAccount) {
  const { plain, restricted } = apiKeys;
  const chat = (secret: string, body: object, statuses = [200]) =>
    call(target, "/v1/chat/completions", secret, { body: { ...CHAT, ...body }, statuses });
  await chat(plain, {});
  await chat(plain, { verify_tee: true, max_tokens: 30 });
  await chat(restricted, { max_tokens: 10 });
  await readStream(target, plain, { ...CHAT, stream: true });
  await call(target, "/v1/messages", plain, { body: { ...CHAT, max_tokens: 25 } });
  await call(target, "/v1/images/generations", plain, { body: imageRequest("devnet-image", "a lighthouse") });
  await transcribe(target, plain);
  await chat(plain, { model: BROKEN_MODEL }, [502]);
  await readStream(target, plain, { ...CHAT, model: HANGING_MODEL, stream: true }, { abortAfterFirst: true });
  await repeat(target, "chat", plain);
  await repeat(target, "apiKey", managementKeys.admin);
  const text = `mutation ($input: CompleteChatInput!) { completeChat(input: $input) { completion { outputTokens } } }`;
  const messages = [{ role: "user", content: "And of the hills" }];
  const input = { model: "devnet-chat", messages, idempotencyKey: "graph" };
  await query(target, plain, text, { input });
  await untilEnded(target, managementKeys.reader);
}

/** One request of another account. */
export async function fillSmallRequest(target: Target, { apiKey }: SmallAccount): Promise<void> {
  await call(target, "/v1/chat/completions", apiKey, { body: CHAT });
}

/** Sends a request of `REPEATED`. */
export function repeat(
  target: Target,
  name: keyof typeof REPEATED,
  secret: string,
  statuses?: readonly number[],
): Promise<unknown> {
  const { path, key, body } = REPEATED[name];
  const headers = { "idempotency-key": key };
  return call(target, path, secret, { body, headers, ...(statuses && { statuses }) });
}

/** A stream that is open when the process is killed. Resolves when its first bytes have arrived. */
export async function openHangingStream(target: Target, { apiKeys }: FilledAccount): Promise<void> {
  const reply = await postStream(target, apiKeys.plain, { ...CHAT, model: HANGING_MODEL, stream: true });
  const reader = reply.body?.getReader();
  await reader?.read();
  reader?.read().catch(() => undefined);
}

/** Image jobs in every state. */
export async function fillJobs(target: Target, { apiKeys: { plain } }: FilledAccount): Promise<FilledJobs> {
  const submit = async (model: string, prompt: string) => {
    const path = "/v1/async/images/generations";
    const body = imageRequest(model, prompt);
    return (await call<{ jobId: string }>(target, path, plain, { body, statuses: [202] })).jobId;
  };
  const reaches = async (id: string, wanted: string) => {
    await until(async () => (await jobOf(target, plain, id)).status === wanted);
    return id;
  };
  const failed = await reaches(await submit(JOB_MODEL, JOB_PROMPTS.failed), "failed");
  const completed = await reaches(await submit("devnet-image", "a harbour"), "completed");
  const processing = await reaches(await submit(JOB_MODEL, JOB_PROMPTS.processing), "processing");
  // The release works on one job at a time, so these wait.
  const pending = await submit(JOB_MODEL, JOB_PROMPTS.processing);
  const cancelled = await submit(JOB_MODEL, JOB_PROMPTS.processing);
  await call(target, `/v1/async/jobs/${cancelled}`, plain, { method: "DELETE" });
  return { completed, failed, processing, pending, cancelled };
}

/** The state of a job. */
export function jobOf(target: Target, secret: string, id: string): Promise<{ readonly status: string }> {
  return call(target, `/v1/async/jobs/${id}`, secret);
}

function imageRequest(model: string, prompt: string) {
  return { model, prompt, n: 1, size: "64x64", response_format: "b64_json" };
}

function postStream({ origin }: Target, secret: string, body: object, signal?: AbortSignal) {
  return fetch(`${origin}/v1/chat/completions`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${secret}` },
    body: JSON.stringify(body),
    ...(signal && { signal }),
  });
}

async function readStream(target: Target, secret: string, body: object, { abortAfterFirst = false } = {}) {
  const abort = new AbortController();
  const reply = await postStream(target, secret, body, abort.signal);
  if (!abortAfterFirst) return void (await reply.text());
  await reply.body?.getReader().read();
  abort.abort();
}

async function transcribe({ origin }: Target, secret: string): Promise<void> {
  const form = new FormData();
  form.set("model", "devnet-speech");
  form.set("file", new Blob([new Uint8Array(toWav(2))], { type: "audio/wav" }), "two.wav");
  const reply = await fetch(`${origin}/v1/audio/transcriptions`, {
    method: "POST",
    headers: { authorization: `Bearer ${secret}` },
    body: form,
  });
  if (reply.status !== 200) throw new Error(`${reply.status} ${await reply.text()}`);
}

/** No request is running: what was aborted is settled. */
async function untilEnded(target: Target, reader: string): Promise<void> {
  const text = "{ viewer { account { requests(first: 100) { nodes { status } } } } }";
  await until(async () => {
    const { nodes } = (await query(target, reader, text)).viewer.account.requests;
    return !nodes.some(({ status }: { status: string }) => status === "RUNNING");
  });
}
