import { pause } from "../../../data/query/fetch-again.ts";
import { Passing } from "./segment-failure.ts";

const MAX_ATTEMPTS = 6;

/** Does something, and again after a pause while it fails with `Passing`. Throws its last failure. */
export async function again<T>(act: () => Promise<T>, onFailure: () => void): Promise<T> {
  for (let attempts = 1; ; attempts++)
    try {
      return await act();
    } catch (error) {
      if (!(error instanceof Passing) || attempts === MAX_ATTEMPTS) throw error;
      onFailure();
      await pause(attempts - 1);
    }
}

/** Fetches. Throws `Passing` when the gateway cannot be reached, or is busy. */
export async function fetchOnce(url: string, init: RequestInit): Promise<Response> {
  const response = await fetch(url, init).catch(() => {
    throw new Passing("The gateway cannot be reached.");
  });
  if (response.status !== 429 && response.status < 500) return response;
  throw new Passing(`The gateway answered ${response.status}.`);
}
