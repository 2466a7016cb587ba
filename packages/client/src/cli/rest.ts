import { ZerographError } from "../core/errors.ts";
import { failureOfNetwork, failureOfStatus } from "../core/failures.ts";

/** A request to the REST API. */
type RestRequest = {
  readonly method?: string;
  readonly credential?: string | undefined;
  readonly body?: unknown;
  readonly timeoutMs?: number;
  /** Statuses other than 2xx that are answers. */
  readonly accepts?: readonly number[];
};

const TIMEOUT_MS = 30_000;

/** Sends a request. Throws `OperationRefused` with the server's code, or `ConnectionLost`. */
export async function send(
  url: string,
  { method = "GET", credential, body, timeoutMs = TIMEOUT_MS, accepts = [] }: RestRequest = {},
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
  if (!response.ok && !accepts.includes(response.status))
    throw failureOfStatus(response.status, await textOf(response)).error;
  return response;
}

/** The text of an answer. Throws `ConnectionLost` if the connection breaks before its end. */
async function textOf(response: Response): Promise<string> {
  try {
    return await response.text();
  } catch (reason) {
    throw failureOfNetwork(reason).error;
  }
}

/** The JSON object of an answer. Throws `invalid_answer` for one without this member, which every right answer has. */
export async function sendForJson<T extends object>(
  url: string,
  member: keyof T & string,
  request?: RestRequest,
): Promise<T> {
  return readJson(await send(url, request), member);
}

/** The same, of a response. */
export async function readJson<T extends object>(response: Response, member: keyof T & string): Promise<T> {
  const text = await textOf(response);
  try {
    const answer: unknown = JSON.parse(text);
    if (typeof answer === "object" && answer !== null && member in answer) return answer as T;
  } catch {
    // Reported below.
  }
  throw new ZerographError(
    "invalid_answer",
    `${response.url} did not answer as a zerograph gateway does. Is --url right?`,
  );
}
