// @module-tag medium
import { once } from "node:events";
import { createServer } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { describe, expect, onTestFinished, test } from "vitest";
import { ClientLeftError } from "../../../src/kernel/errors.ts";
import { newId } from "../../../src/kernel/text/ids.ts";
import { FormUpload } from "../../../src/rest/form-upload/form-upload.ts";
import { balanceAtRest } from "../../support/balance.ts";
import { MODEL } from "../../support/chain/network.ts";
import { followEvents } from "../../support/clients/graph-client.ts";
import { leaveDuring } from "../../support/clients/leave-during.ts";
import { seedAccount } from "../../support/seed.ts";
import { useStack } from "../../support/stack.ts";
import { until } from "../../support/until.ts";

const STREAMS_PER_KEY = 2;
const stack = useStack({ GRAPH_LIMITS: `streamsPerKey=${STREAMS_PER_KEY}` });
const KEYS = "subscription { keyChanged { id } }";

async function newReader(): Promise<string> {
  const { account } = await seedAccount(stack().app.database, 1n);
  return (await stack().app.managementKeys.create(account, newId(), ["keys:read"])).secret;
}

describe("a client that leaves", () => {
  test.each(["/graphql", "/graphql/stream"])(
    "%s while its credential is looked up keeps no stream",
    async (path) => {
      const secret = await newReader();
      for (let n = 0; n < STREAMS_PER_KEY; n++)
        await leaveDuring(stack(), stack().app.requestAuthenticator, "authenticate", {
          method: "GET",
          path: `${path}?query=${encodeURIComponent(KEYS)}`,
          headers: {
            accept: "text/event-stream",
            "apollo-require-preflight": "true",
            authorization: `Bearer ${secret}`,
          },
        });
      await (await followEvents(stack().origin, secret, KEYS)).stop();
      await until(() => stack().app.events.openStreams === 0 && stack().app.credentialWatch.size === 0);
    },
  );

  test("before the first part of its answer keeps no stream", async () => {
    const secret = await newReader();
    for (let n = 0; n < STREAMS_PER_KEY; n++)
      await leaveDuring(stack(), stack().app.events, "now", {
        method: "POST",
        path: "/graphql",
        headers: {
          accept: "multipart/mixed, application/json",
          authorization: `Bearer ${secret}`,
        },
        body: { query: "{ eventCursor ... @defer { viewer { kind } models(first: 1) { nodes { id } } } }" },
      });
    await (await followEvents(stack().origin, secret, KEYS)).stop();
    await until(() => stack().app.events.openStreams === 0);
  });

  test.each([true, false])(
    "a chat with stream %s while its credential is looked up pays nothing",
    async (stream) => {
      const deposited = 10n ** 18n;
      const { account, secret } = await seedAccount(stack().app.database, deposited);
      await leaveDuring(stack(), stack().app.requestAuthenticator, "authenticate", {
        method: "POST",
        path: "/v1/chat/completions",
        headers: { authorization: `Bearer ${secret}` },
        body: { model: MODEL, stream, messages: [{ role: "user", content: "What is the sea?" }] },
      });
      const requests = async () => (await stack().app.requests.list(account, { first: 10 })).rows;
      await until(async () => (await requests()).some(({ status }) => status !== "running"));
      expect(await requests()).toMatchObject([{ status: "aborted" }]);
      expect((await balanceAtRest(stack().app, account)).total).toBe(deposited);
    },
  );
});

test("a form whose client left before it was read is not waited for", async () => {
  const server = createServer();
  onTestFinished(() => void server.close());
  await once(server.listen(0, "127.0.0.1"), "listening");
  const client = connect((server.address() as AddressInfo).port, "127.0.0.1");
  const received = once(server, "request");
  client.write("POST / HTTP/1.1\r\nhost: a\r\ncontent-type: multipart/form-data; boundary=b\r\n");
  client.write("content-length: 7\r\n\r\n--b--\r\n");
  const [request] = await received;
  await until(() => request.complete);
  client.destroy();
  await until(() => request.destroyed);
  const reading = new FormUpload(request).read(() => Promise.reject(new Error("there is no file")));
  await expect(reading).rejects.toBeInstanceOf(ClientLeftError);
});
