import { ZerographError } from "../core/errors.ts";
import { type Failure, failureOfNetwork, failureOfStatus } from "../core/failures.ts";
import { failureOfAttempt, repeat } from "../core/request.ts";

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
export async function send(url: string, request: RestRequest = {}): Promise<Response> {
  const answer = await attempt(url, request, AbortSignal.timeout(request.timeoutMs ?? TIMEOUT_MS));
  if ("canRetry" in answer) throw answer.error;
  return answer;
}

/** Sends a request that may arrive twice: again after failures that pass, up to four times in all. Throws like `send`. */
export function sendAgain(url: string, request: RestRequest = {}): Promise<Response> {
  const { timeoutMs = TIMEOUT_MS } = request;
  return repeat((signal) => attempt(url, request, signal), { canRepeat: true, timeoutMs });
}

async function attempt(
  url: string,
  { method = "GET", credential, body, accepts = [] }: RestRequest,
  signal: AbortSignal,
): Promise<Response | Failure> {
  try {
    const response = await fetch(url, {
      method,
      headers: {
        ...(credential !== undefined && { authorization: `Bearer ${credential}` }),
        ...(body !== undefined && { "content-type": "application/json" }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
      signal,
    });
    if (response.ok || accepts.includes(response.status)) return response;
    return failureOfStatus(response.status, await response.text(), response.headers.get("retry-after"));
  } catch (reason) {
    return failureOfAttempt(reason, signal);
  }
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
