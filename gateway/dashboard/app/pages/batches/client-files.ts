import { useCallback, useEffect, useState } from "react";
import { retry } from "../../data/query/fetch-again.ts";
import { useRetryLater } from "../../data/query/use-retry-later.ts";

/** A file of batches, as the REST API lists it. Times are seconds since 1970. */
export type ClientFile = {
  readonly id: string;
  readonly bytes: number;
  readonly created_at: number;
  readonly expires_at: number;
  readonly filename: string;
  readonly purpose: "batch" | "batch_output";
};
type FilePage = {
  readonly data: readonly ClientFile[];
  readonly has_more: boolean;
};

const PAGE_FILES = 50;
const CREATE_ATTEMPTS = 6;

/**
 * The files of the account, newest first, read on by `more`. The graph has no files of batches; the session's cookie is
 * accepted by these routes for pages of this origin.
 */
export function useClientFiles() {
  const [files, setFiles] = useState<readonly ClientFile[]>();
  const [hasMore, setMore] = useState(false);
  const [failure, setFailure] = useState<Error>();
  const read = useCallback(async (after: string | undefined) => {
    setFailure(undefined);
    try {
      const query = new URLSearchParams({ limit: String(PAGE_FILES), ...(after && { after }) });
      const page = (await request(`/v1/files?${query}`, {})) as FilePage;
      // The same page may have been requested twice.
      setFiles((known) =>
        after === undefined ? page.data : known?.at(-1)?.id === after ? [...known, ...page.data] : known,
      );
      setMore(page.has_more);
    } catch (error) {
      setFailure(error instanceof Error ? error : new Error("The files could not be read."));
    }
  }, []);
  useEffect(() => void read(undefined), [read]);
  useRetryLater(!files && failure instanceof Unreachable ? failure : undefined, () => read(undefined));
  return {
    files,
    failure: failure?.message,
    refetch: () => void read(undefined),
    more: hasMore ? () => read(files?.at(-1)?.id) : undefined,
    /** Takes a file that was deleted off the list; the others stay where they are. */
    remove: (id: string) => setFiles((known) => known?.filter((file) => file.id !== id)),
  };
}

/** Deletes a file. Throws the server's message. */
export async function deleteClientFile(id: string): Promise<void> {
  await request(`/v1/files/${encodeURIComponent(id)}`, { method: "DELETE" });
}

/** Uploads the input of a batch with a key. Returns the id of the file. Throws the server's message, or when `signal` aborts. */
export async function uploadInput(file: File, apiKey: string, signal: AbortSignal): Promise<string> {
  const body = new FormData();
  body.set("purpose", "batch");
  body.set("file", file, file.name);
  const init = { method: "POST", headers: bearer(apiKey), body, signal };
  const { id } = (await request("/v1/files", init)) as { id: string };
  return id;
}

/**
 * Creates a batch of an uploaded file, which runs with the key. Returns its id. Throws the server's message. A request
 * whose answer is lost is repeated, and finds the batch that it has created: it would run, and be charged, unseen.
 */
export async function createBatch(
  { fileId, endpoint, name }: { fileId: string; endpoint: string; name: string },
  apiKey: string,
): Promise<string> {
  const init = {
    method: "POST",
    headers: {
      ...bearer(apiKey),
      "content-type": "application/json",
      "idempotency-key": `batch of ${fileId}`,
    },
    body: JSON.stringify({
      input_file_id: fileId,
      endpoint,
      completion_window: "24h",
      metadata: { name: name.slice(0, 512) },
    }),
  };
  const { id } = (await retry(() => request("/v1/batches", init), {
    maxAttempts: CREATE_ATTEMPTS,
    isTransient: isUnanswered,
  })) as { id: string };
  return id;
}

const bearer = (apiKey: string) => ({ authorization: `Bearer ${apiKey}` });

/** Whether a request with an `Idempotency-Key` may still have been carried out, or be running. */
function isUnanswered(error: unknown): boolean {
  if (error instanceof Unreachable) return true;
  return error instanceof Refusal && (error.status >= 500 || error.code === "idempotency_in_progress");
}

class Unreachable extends Error {
  override readonly name = "Unreachable";
}

/** An answer other than success. */
class Refusal extends Error {
  override readonly name = "Refusal";
  readonly status: number;
  readonly code: unknown;

  constructor(status: number, { code, message }: { readonly code?: unknown; readonly message?: string }) {
    super(message ?? `The server answered ${status}.`);
    this.status = status;
    this.code = code;
  }
}

async function request(path: string, init: RequestInit): Promise<unknown> {
  const response = await fetch(path, { credentials: "same-origin", ...init }).catch(() => {
    throw new Unreachable("The gateway cannot be reached.");
  });
  const body = (await response.json().catch(() => undefined)) as
    | { readonly error?: { readonly message?: string; readonly code?: unknown } }
    | undefined;
  if (!response.ok) throw new Refusal(response.status, body?.error ?? {});
  return body;
}
