/** The response of a node's HTTP interface. */
export type JsonAnswer = { readonly status: number; readonly body: unknown };

const TIMEOUT_MS = 3_000;
const MAX_BYTES = 1_048_576;
const MAX_REASON = 200;

/**
 * Calls a node's HTTP interface with GET, or with POST if there is a body. The response is JSON of at most 1 MiB
 * within 3 s; redirects are not followed. Its body is undefined if it is not JSON. Without a response it throws an
 * `Error` whose message is for the operator.
 */
export async function readJson(
  url: string,
  {
    body,
    headers = {},
  }: { readonly body?: object; readonly headers?: Readonly<Record<string, string>> } = {},
): Promise<JsonAnswer> {
  const signal = AbortSignal.timeout(TIMEOUT_MS);
  try {
    const response = await fetch(url, {
      signal,
      redirect: "error",
      headers: { ...(body && { "content-type": "application/json" }), ...headers },
      ...(body && { method: "POST", body: JSON.stringify(body) }),
    });
    return { status: response.status, body: parse(await readText(response)) };
  } catch (error) {
    throw new Error(signal.aborted ? `no answer within ${TIMEOUT_MS / 1_000} s` : reasonOf(error), {
      cause: error,
    });
  }
}

/** A text from a node, sanitised for display: one line of at most 200 characters. */
export function plainText(text: string): string {
  return text
    .slice(0, MAX_REASON)
    .replace(/\p{Cc}/gu, " ")
    .toWellFormed();
}

async function readText(response: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of (response.body ?? []) as AsyncIterable<Uint8Array>) {
    bytes += chunk.byteLength;
    if (bytes > MAX_BYTES) throw new Error(`its response exceeds ${MAX_BYTES} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** `fetch` puts the actual reason in `cause`. */
function reasonOf(error: unknown): string {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  const code = cause instanceof Error && "code" in cause ? String(cause.code) : undefined;
  return plainText(code ?? (cause instanceof Error ? cause.message : String(cause)));
}
