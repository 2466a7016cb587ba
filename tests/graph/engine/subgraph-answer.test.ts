import { createServer, type Server } from "node:http";
import { parse } from "graphql";
import { afterAll, beforeAll, expect, test } from "vitest";
import { WebSocketServer } from "ws";
import { createEngine, type Engine } from "../../../gateway/federation/engine/engine.ts";
import type { SubgraphExecutor } from "../../../gateway/federation/engine/subgraph-executor.ts";
import { composeSupergraph } from "../../../scripts/compose.ts";
import { FEDERATION_LINK } from "../../../subgraphs/shared/schema/build-subgraph.ts";
import { createNativePlanner } from "../../support/native-planner.ts";
import { remoteExecutor, type TestContext } from "./support/federation.ts";

const context = { user: "ann" };
const SDL = `${FEDERATION_LINK} type Query { name: String age: Int } type Subscription { ticked: Tick } type Tick { n: Int }`;
const PATHLESS = { message: "m", extensions: { code: "internal_error" } };

let server: Server;
let sockets: WebSocketServer;
let executor: SubgraphExecutor<TestContext>;
let engine: Engine<TestContext>;
/** What the subgraph answers, and sends as its event. */
let answer: object;

beforeAll(async () => {
  server = createServer((request, response) => {
    request.resume();
    response.end(JSON.stringify(answer));
  });
  sockets = new WebSocketServer({ server, handleProtocols: () => "graphql-transport-ws" });
  sockets.on("connection", (socket) =>
    socket.on("message", (message) => {
      const { type, id } = JSON.parse(String(message));
      if (type === "connection_init") socket.send(`{"type":"connection_ack"}`);
      if (type === "subscribe") socket.send(JSON.stringify({ id, type: "next", payload: answer }));
    }),
  );
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  if (typeof address !== "object" || address === null) throw new Error("no address");
  executor = remoteExecutor(`http://127.0.0.1:${address.port}/graphql`);
  const supergraphSdl = composeSupergraph([{ name: "people", sdl: SDL }]);
  engine = createEngine({
    ...{ supergraphSdl, planner: createNativePlanner(supergraphSdl), executors: { people: executor } },
  });
});
afterAll(async () => {
  await executor.close();
  for (const socket of sockets.clients) socket.terminate();
  server.close();
});

test.each([["name"], [{ at: "name" }], [["name", null]], [7]])(
  "an error whose path is %j is reported without a place, and the data beside it is kept",
  async (path) => {
    answer = { data: { name: "a", age: 1 }, errors: [{ message: "m", path, extensions: "x" }] };
    const result = await engine.execute({ document: parse("{ name age }"), context });
    expect(JSON.parse(JSON.stringify(result))).toEqual({ data: { name: "a", age: 1 }, errors: [PATHLESS] });
  },
);

test("so is one of an event, and the subscription goes on", async () => {
  answer = { data: { ticked: { n: 1 } }, errors: [{ message: "m", path: "ticked" }] };
  const stream = await engine.subscribe({ document: parse("subscription { ticked { n } }"), context });
  if (!("next" in stream)) throw new Error("refused");
  const { value } = await stream.next();
  expect(JSON.parse(JSON.stringify(value))).toEqual({ data: { ticked: { n: 1 } }, errors: [PATHLESS] });
  await stream.return?.();
});

test("errors that cannot be read make the answer none, so that their null is not taken for data", async () => {
  answer = { data: { name: null, age: 1 }, errors: { message: "m" } };
  const { data, errors } = await engine.execute({ document: parse("{ name }"), context });
  expect([data, errors?.[0]?.extensions.code]).toEqual([{ name: null }, "unavailable"]);
});
