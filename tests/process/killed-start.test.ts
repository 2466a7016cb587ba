// @module-tag large
import { afterAll, beforeAll, expect, test } from "vitest";
import { ask } from "../support/clients/graph-client.ts";
import {
  chainsOf,
  isAlive,
  newFolder,
  type ReadyProcess,
  runProcess,
  startReady,
} from "../support/servers/process.ts";
import { until } from "../support/until.ts";

const REQUESTS = "{ viewer { account { requests(first: 100) { nodes { requestId status } } } } }";

const ends: (() => Promise<void>)[] = [];
const onEnd = (end: () => Promise<void>) => void ends.unshift(end);
let settings: Readonly<Record<string, string>>;
let running: ReadyProcess;

beforeAll(async () => {
  settings = { DATA_DIR: newFolder(onEnd) };
  running = await startReady({ settings, onEnd });
});
afterAll(async () => {
  for (const end of ends) await end();
});

/** A secret of the banner. */
const printed = (pattern: RegExp) => pattern.exec(running.stdout())?.[0] ?? "";

function chat(body: object = {}): Promise<Response> {
  return fetch(`${running.origin}/v1/chat/completions`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${printed(/sk-\w+/)}` },
    body: JSON.stringify({ model: "devnet-chat", messages: [{ role: "user", content: "hello" }], ...body }),
  });
}

test("kill -9 under 20 chats ends the chain too, and every delivered answer is charged once", async () => {
  const [chain = 0] = await chainsOf(running.pid);
  const answered: string[] = [];
  const asking = Array.from({ length: 20 }, async (_, n) => {
    const reply = await chat({ stream: n % 2 === 1 });
    const body = await reply.text();
    if (n % 2 === 1 ? body.endsWith("[DONE]\n\n") : true)
      answered.push(reply.headers.get("x-request-id") ?? "");
    if (answered.length === 5) running.end("SIGKILL");
  });
  await Promise.allSettled(asking);
  expect(await running.ended).toMatchObject({ signal: "SIGKILL" });
  await until(async () => !(await isAlive(chain)));
  running = await startReady({ settings, onEnd });
  expect((await chat()).status).toBe(200);
  const { data } = await ask(running.origin, printed(/mk-\w+/), REQUESTS);
  const { nodes }: { nodes: { requestId: string; status: string }[] } = data.viewer.account.requests;
  const billed = nodes.filter(({ status }) => status === "COMPLETED");
  expect(billed.map(({ requestId }) => requestId)).toEqual(expect.arrayContaining(answered));
  expect(await running.end()).toMatchObject({ code: 0 });
  const verified = await runProcess({ script: "dist/gateway/cli/verify-ledger.js", settings });
  expect(verified).toMatchObject({ code: 0, stdout: expect.stringContaining("The ledger is exact") });
});
