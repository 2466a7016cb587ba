import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { ProviderClient } from "../../../src/inference/providers/exchange/provider.client.ts";
import { gatherAnswer } from "../../../src/inference/providers/exchange/provider-answer.ts";
import type { Provider } from "../../../src/inference/providers/provider.ts";

/** A provider that answers nothing, at which the only connection is taken. */
async function openBusy() {
  const begun = Promise.withResolvers<void>();
  let requests = 0;
  const server = createServer(() => {
    requests++;
    begun.resolve();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const client = new ProviderClient({
    credentials: { secretFor: async () => "", forget() {} },
    deadlines: { connectMs: 60_000, firstByteMs: 60_000, silenceMs: 60_000, totalMs: 60_000 },
    connections: 1,
    allowsPrivate: true,
  });
  onTestFinished(async () => {
    await client.close();
    server.closeAllConnections();
    server.close();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const provider = { address: "0x01", source: "chain", url } as unknown as Provider;
  const ask = (signal: AbortSignal, limits: { totalMs?: number; firstByteMs?: number }) =>
    gatherAnswer((to) => client.post(provider, "/chat/completions", Buffer.from("{}"), to, limits), {
      signal,
    });
  const first = ask(new AbortController().signal, {}).catch((error: unknown) => error);
  await begun.promise;
  return { ask, first, requests: () => requests };
}

test.each([
  ["the deadline of its answer", { totalMs: 50 }, "silent"],
  ["the deadline of its first byte", { firstByteMs: 50 }, "busy"],
])("a request that waits for a connection beyond %s fails without being sent", async (_, limits, kind) => {
  const { ask, requests } = await openBusy();
  await expect(ask(new AbortController().signal, limits)).rejects.toMatchObject({ kind });
  expect(requests()).toBe(1);
});

test("a request that waits for a connection ends when its client leaves", async () => {
  const { ask, requests } = await openBusy();
  const client = new AbortController();
  const waiting = ask(client.signal, {});
  client.abort();
  await expect(waiting).rejects.toMatchObject({ code: "provider_error" });
  expect(requests()).toBe(1);
});
