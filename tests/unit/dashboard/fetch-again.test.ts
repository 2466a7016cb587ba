import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { fetchAgain, loadAgain, PartMissing } from "../../../gateway/dashboard/app/data/query/fetch-again.ts";
import { again } from "../../../gateway/dashboard/app/pages/storage/worker/again.ts";
import { Passing } from "../../../gateway/dashboard/app/pages/storage/worker/segment-failure.ts";

/** The browser's network: what is run fails while it is cut. */
const network = { onLine: true };
let browser: EventTarget;

beforeEach(() => {
  vi.useFakeTimers();
  browser = new EventTarget();
  network.onLine = true;
  vi.stubGlobal("navigator", network);
  vi.stubGlobal("addEventListener", browser.addEventListener.bind(browser));
  vi.stubGlobal("removeEventListener", browser.removeEventListener.bind(browser));
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

function run() {
  return network.onLine ? Promise.resolve("here") : Promise.reject(new Passing("cut"));
}

test.each([
  ["a part of the page", () => loadAgain(run)],
  ["a query", () => fetchAgain("/graphql", { body: '{"query":"{ a }"}' })],
  ["a segment of a file", () => again(run, () => {})],
])("%s is loaded when the network is back, however long it was cut", async (_, load) => {
  const requests = vi.fn(run);
  vi.stubGlobal("fetch", requests);
  network.onLine = false;
  const loaded = load();
  await vi.advanceTimersByTimeAsync(3_600_000);
  network.onLine = true;
  browser.dispatchEvent(new Event("online"));
  expect(await loaded).toBe("here");
});

test("what fails with a network is tried four times, and a mutation once", async () => {
  const requests = vi.fn(() => Promise.reject(new TypeError("refused")));
  vi.stubGlobal("fetch", requests);
  const query = expect(fetchAgain("/graphql", { body: '{"query":"{ a }"}' })).rejects.toThrow("refused");
  await vi.advanceTimersByTimeAsync(60_000);
  await query;
  expect(requests).toHaveBeenCalledTimes(4);

  await expect(fetchAgain("/graphql", { body: '{"query":"\\n mutation A { a }"}' })).rejects.toThrow();
  expect(requests).toHaveBeenCalledTimes(5);

  const part = expect(loadAgain(requests)).rejects.toThrow(PartMissing);
  await vi.advanceTimersByTimeAsync(60_000);
  await part;
  expect(requests).toHaveBeenCalledTimes(9);
});

test("a query whose page was left while the network is cut is no longer tried", async () => {
  const requests = vi.fn(run);
  vi.stubGlobal("fetch", requests);
  network.onLine = false;
  const left = new AbortController();
  const query = expect(fetchAgain("/graphql", { signal: left.signal })).rejects.toThrow();
  await vi.advanceTimersByTimeAsync(60_000);
  left.abort();
  await query;
  const before = requests.mock.calls.length;
  await vi.advanceTimersByTimeAsync(60_000);
  expect(requests).toHaveBeenCalledTimes(before);
});
