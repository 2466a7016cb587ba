import { AppError } from "../kernel/errors.ts";
import { redact } from "../kernel/log.ts";
import type { AdmittedChat } from "./admission.service.ts";
import type { ProviderClient, ProviderHead } from "./provider.client.ts";

/** A provider's whole answer. */
export type ProviderAnswer = ProviderHead & { readonly body: Buffer };

const MAX_ANSWER_BYTES = 16 * 1_048_576;
const MAX_REASON_LENGTH = 500;

/** Posts an admitted request and gathers the answer, at most 16 MiB. Throws `provider_error` when none comes whole. */
export async function collectAnswer(
  providers: ProviderClient,
  chat: AdmittedChat,
  path: string,
  signal: AbortSignal,
): Promise<ProviderAnswer> {
  const { promise, resolve, reject } = Promise.withResolvers<ProviderAnswer>();
  const chunks: Buffer[] = [];
  let size = 0;
  let head: ProviderHead = { status: 0, contentType: "", responseKey: undefined };
  const exchange = await providers.post(chat.provider, path, chat.body, {
    onHead(came) {
      chat.markFirstByte();
      head = came;
    },
    onChunk(chunk) {
      chunks.push(chunk);
      size += chunk.length;
      if (size > MAX_ANSWER_BYTES) exchange.abort(new Error("the answer is too long"));
    },
    onEnd: () => resolve({ ...head, body: Buffer.concat(chunks) }),
    onError: (cause) => reject(unreachable(cause)),
  });
  const onAbort = () => exchange.abort(new Error("the client left"));
  if (signal.aborted) onAbort();
  signal.addEventListener("abort", onAbort, { once: true });
  try {
    return await promise;
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
}

/** The failure for a provider that could not be reached or broke off. Its own text stays in the log. */
export function unreachable(cause: unknown): AppError {
  return new AppError("provider_error", "The provider could not be reached or broke off.", { cause });
}

/**
 * The failure for a provider's answer of another status than 200. When it blames the request (400, 413, 422) its
 * reason is passed on, cut to 500 characters and without secrets; everything else is the router's business.
 */
export function refusalOf(status: number, body: Buffer): AppError {
  const blamesRequest = status === 400 || status === 413 || status === 422;
  if (blamesRequest)
    return new AppError("invalid_body", `The provider refuses this request: ${reasonOf(body)}`);
  const cause = new Error(`status ${status}: ${body.toString("utf8", 0, 300)}`);
  return new AppError("provider_error", "The provider failed.", { cause });
}

function reasonOf(body: Buffer): string {
  const text = body.toString("utf8");
  try {
    const { error } = JSON.parse(text) as { error?: unknown };
    const reason = typeof error === "object" && error !== null && "message" in error ? error.message : error;
    return redact(String(reason)).slice(0, MAX_REASON_LENGTH);
  } catch {
    return "no reason was given";
  }
}
