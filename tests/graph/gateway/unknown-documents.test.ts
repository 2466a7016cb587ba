import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { openGraph } from "../../../gateway/federation/graph.ts";
import { createServer as createGateway } from "../../../gateway/server.ts";
import type { Config } from "../../../src/config.ts";
import { followEvents, followSocket, type GraphResult } from "../../support/clients/graph-client.ts";
import type { OnEnd } from "../../support/servers/database.ts";
import { newFolder } from "../../support/servers/process.ts";
import { useStack, useStarted } from "../../support/stack.ts";
import { until } from "../../support/until.ts";

const stack = useStack();

/** Serves the stack at another port, with these settings. */
async function serveWith(settings: Partial<Config>, onEnd: OnEnd): Promise<string> {
  const { app } = stack();
  const graph = await openGraph({ kind: "local", app }, app);
  onEnd(() => graph.close());
  const server = await createGateway({ ...app, config: { ...app.config, ...settings } }, graph);
  onEnd(() => server.close());
  return server.listen({ host: "127.0.0.1", port: 0 });
}

/** The gateways that trust a document alone, and also, and the one that trusts none. */
const origins = useStarted(async (onEnd) => {
  const path = join(newFolder(onEnd), "documents.json");
  writeFileSync(path, JSON.stringify({ models: "{ models { nodes { id } } }" }));
  return {
    only: await serveWith({ TRUSTED_DOCUMENTS: path, TRUSTED_DOCUMENTS_ONLY: "on" }, onEnd),
    also: await serveWith({ TRUSTED_DOCUMENTS: path }, onEnd),
    none: stack().origin,
  };
});

const HASH = { extensions: { persistedQuery: { version: 1, sha256Hash: "0".repeat(64) } } };
const UNKNOWN_ID = "This server has no trusted document with this documentId.";

describe.each([
  [
    "an unknown documentId, where only trusted documents are allowed",
    "only",
    { documentId: "nope" },
    UNKNOWN_ID,
  ],
  ["an unknown documentId, where others are allowed too", "also", { documentId: "nope" }, UNKNOWN_ID],
  [
    "a documentId, where no document is trusted",
    "none",
    { documentId: "nope" },
    "This server has no trusted documents. Send a query in place of documentId.",
  ],
  [
    "an unknown hash, where only trusted documents are allowed",
    "only",
    HASH,
    "This server has no trusted document with this hash.",
  ],
  ["a hash that a client may register", "also", HASH, "PersistedQueryNotFound"],
] as const)("%s is refused alike", (_, gateway, body, message) => {
  const refusal = [{ message, extensions: { code: "PERSISTED_QUERY_NOT_FOUND" } }];
  // Apollo's clients repeat the request after this answer.
  const status = message === "PersistedQueryNotFound" ? 200 : 400;
  const origin = () => origins()[gateway];

  test("by POST", async () => {
    const reply = await fetch(`${origin()}/graphql`, {
      method: "POST",
      headers: { "content-type": "application/json", accept: "application/graphql-response+json" },
      body: JSON.stringify(body),
    });
    expect([reply.status, await reply.json()]).toMatchObject([status, { errors: refusal }]);
    expect(reply.headers.get("cache-control")).toContain("no-store");
  });

  test("by GET", async () => {
    const search = new URLSearchParams();
    for (const [name, value] of Object.entries(body))
      search.set(name, typeof value === "string" ? value : JSON.stringify(value));
    const reply = await fetch(`${origin()}/graphql?${search}`, {
      headers: { "apollo-require-preflight": "1" },
    });
    expect([reply.status, await reply.json()]).toMatchObject([status, { errors: refusal }]);
  });

  test("as a stream of events", async () => {
    for (const path of ["/graphql", "/graphql/stream"]) {
      const following = await followEvents(origin(), undefined, "", path, body);
      await following.closed;
      expect(following.results).toMatchObject([{ errors: refusal }] satisfies Partial<GraphResult>[]);
    }
  });

  test("over a socket", async () => {
    const socket = await followSocket(origin(), undefined, "", body);
    await until(() => socket.failure !== undefined);
    expect(socket.failure).toMatchObject(refusal);
    await socket.stop();
  });
});
