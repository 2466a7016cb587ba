import { once } from "node:events";
import { createServer, type Server } from "node:http";
import { parse } from "graphql";
import { afterEach, expect, test } from "vitest";
import type { SubgraphRequest } from "../../../gateway/federation/engine/subgraph-executor.ts";
import { createRemoteExecutor } from "../../../gateway/federation/executor.remote.ts";
import { scaled } from "../../support/machine.ts";
import { freePort } from "../../support/servers/postgres.ts";
import { until } from "../../support/until.ts";

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const clean of cleanups.splice(0).reverse()) await clean();
});

function request(text: string): SubgraphRequest<object> {
  return { text, document: parse(text), variables: {}, context: {}, scope: {}, signal: undefined };
}

function newExecutor(port: number, restartMs: number) {
  const nobody = () => ({});
  const url = `http://127.0.0.1:${port}/graphql`;
  const executor = createRemoteExecutor<object>({
    url,
    headers: nobody,
    connectionParams: nobody,
    restartMs,
  });
  cleanups.push(() => executor.close());
  return executor;
}

/** Answers on this port from now on; breaks the connection of the first `cut` requests. */
async function serve(port: number, cut = 0): Promise<{ readonly seen: () => number; stop(): Promise<void> }> {
  let seen = 0;
  const server: Server = createServer((incoming, outgoing) => {
    seen += 1;
    if (seen <= cut) incoming.socket.destroy();
    else outgoing.end(`{"data":{"x":${seen}}}`);
  });
  await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
  const stop = async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  };
  cleanups.push(() => server.listening && stop());
  return { seen: () => seen, stop };
}

test("queries and mutations refused by a subgraph that is being replaced are answered by its successor", async () => {
  const port = await freePort();
  const executor = newExecutor(port, 4_000);
  const first = await serve(port);
  expect(await executor.execute(request("{ x }"))).toEqual({ data: { x: 1 } });
  await first.stop();
  const answers = ["{ x }", "mutation { x }"].map(async (text) => executor.execute(request(text)));
  await Promise.race([new Promise((resolve) => setTimeout(resolve, 150)), ...answers]);
  const second = await serve(port);
  const results = await Promise.all(answers);
  expect(results.map(({ errors }) => errors)).toEqual([undefined, undefined]);
  expect(second.seen()).toBe(2);
});

test("a client that leaves does not use up the time of a restart", async () => {
  const port = await freePort();
  const restartMs = 2_000;
  const executor = newExecutor(port, restartMs);
  const silent = createServer(() => {});
  await new Promise<void>((resolve) => silent.listen(port, "127.0.0.1", resolve));
  const leaving = new AbortController();
  const left = (async () => executor.execute({ ...request("{ x }"), signal: leaving.signal }))();
  await Promise.all([once(silent, "request").then(() => leaving.abort()), expect(left).rejects.toThrow()]);
  const since = performance.now();
  silent.closeAllConnections();
  await new Promise((resolve) => silent.close(resolve));
  // Longer than a restart takes: only the next request finds the subgraph gone.
  await until(() => performance.now() - since > restartMs);
  const answer = executor.execute(request("{ x }"));
  await serve(port);
  expect(await answer).toEqual({ data: { x: 1 } });
});

test("a query whose connection breaks is sent again; a mutation is not, as it may have arrived", async () => {
  const port = await freePort();
  const executor = newExecutor(port, 4_000);
  const server = await serve(port, 2);
  await expect((async () => executor.execute(request("mutation { x }")))()).rejects.toThrow();
  expect(server.seen()).toBe(1);
  expect(await executor.execute(request("{ x }"))).toEqual({ data: { x: 3 } });
});

test("a subgraph that is gone for longer than a restart takes is not waited for, and is used again once it is back", async () => {
  const port = await freePort();
  const executor = newExecutor(port, 200);
  await expect((async () => executor.execute(request("{ x }")))()).rejects.toThrow();
  const since = performance.now();
  for (let n = 0; n < 10; n++)
    await expect((async () => executor.execute(request("{ x }")))()).rejects.toThrow();
  // Ten requests that wait would have taken 2 s.
  expect(performance.now() - since).toBeLessThan(scaled(1_000));
  await serve(port);
  expect(await until(async () => executor.execute(request("{ x }")))).toEqual({ data: { x: 1 } });
});
