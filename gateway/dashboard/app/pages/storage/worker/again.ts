import { retry } from "../../../data/query/fetch-again.ts";
import { Passing } from "./segment-failure.ts";

const MAX_ATTEMPTS = 6;

/** Runs `run`, and retries it while it fails with `Passing`. Throws its last failure. */
export async function again<T>(run: () => Promise<T>, onFailure: () => void): Promise<T> {
  const isTransient = (error: unknown) => error instanceof Passing;
  return await retry(run, { maxAttempts: MAX_ATTEMPTS, isTransient, onFailure });
}

/** Fetches. Throws `Passing` when the gateway cannot be reached, or is busy. */
export async function fetchOnce(url: string, init: RequestInit): Promise<Response> {
  const response = await fetch(url, init).catch(() => {
    throw new Passing("The gateway cannot be reached.");
  });
  if (response.status !== 429 && response.status < 500) return response;
  throw new Passing(`The gateway answered ${response.status}.`);
}
