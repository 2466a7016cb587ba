import { ZerographError } from "../core/errors.ts";
import { failureOfNetwork, failureOfStatus } from "../core/failures.ts";

/** A request to the REST API. */
type RestRequest = {
  readonly method?: string;
  readonly credential?: string | undefined;
  readonly body?: unknown;
  readonly timeoutMs?: number;
};

const TIMEOUT_MS = 30_000;

/** Sends a request. Throws `OperationRefused` with the server's code, or `ConnectionLost`. */
export async function send(
  url: string,
  { method = "GET", credential, body, timeoutMs = TIMEOUT_MS }: RestRequest = {},
): Promise<Response> {
  let response: Response;
  try {
    response = await fetch(url, {
      method,
      headers: {
        ...(credential !== undefined && { authorization: `Bearer ${credential}` }),
        ...(body !== undefined && { "content-type": "application/json" }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(timeoutMs),
    });
  } catch (reason) {
    throw failureOfNetwork(reason).error;
  }
  if (!response.ok) throw failureOfStatus(response.status, await response.text()).error;
  return response;
}

/** The JSON of an answer. */
export async function sendForJson<T>(url: string, request?: RestRequest): Promise<T> {
  const response = await send(url, request);
  try {
    return (await response.json()) as T;
  } catch (cause) {
    throw new ZerographError("invalid_answer", `${url} did not answer with JSON.`, { cause });
  }
}
