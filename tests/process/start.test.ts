import { execFile, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { request } from "node:http";
import { text } from "node:stream/consumers";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { lockFolder } from "../../src/db/embedded/lock.ts";
import { ask } from "../support/clients/graph-client.ts";
import {
  chainsOf,
  childrenOf,
  isAlive,
  NPM_START,
  newFolder,
  type ReadyProcess,
  runProcess,
  startReady,
} from "../support/servers/process.ts";
import { until } from "../support/until.ts";

const ends: (() => Promise<void>)[] = [];
const onEnd = (end: () => Promise<void>) => void ends.unshift(end);
const hasCurl = spawnSync("curl", ["--version"]).status === 0;
if (!hasCurl) console.warn("!! The printed commands are NOT tried: this machine has no curl");
const ACCOUNT =
  "{ viewer { account { balance { total held } requests(first: 100) { nodes { requestId status cost { total } } } } } }";

let folder = "";
let running: ReadyProcess;

beforeAll(async () => {
  folder = newFolder(onEnd);
  running = await startReady({ script: NPM_START, settings: { DATA_DIR: folder }, onEnd });
});
afterAll(async () => {
  for (const end of ends) await end();
});

/** What a person copies out of the banner. */
function pasted(banner = running.stdout()) {
  const [chat = "", query = "", subscribe = ""] = banner
    .split("\n")
    .filter((line) => line.startsWith("curl "));
  const [apiKey = "", managementKey = ""] = [/sk-\w+/, /mk-\w+/].map((key) => key.exec(banner)?.[0] ?? "");
  return { chat, query, subscribe, apiKey, managementKey };
}

/** Runs a pasted line in a shell. */
async function paste(line: string): Promise<string> {
  return (await promisify(execFile)("bash", ["-c", `${line} -sS`])).stdout;
}

/** Runs a pasted line until the test ends; returns what it has printed so far. */
function pasteOn(line: string): () => string {
  const child = spawn("bash", ["-c", `exec ${line} -sS`], { stdio: ["ignore", "pipe", "inherit"] });
  onTestFinished(() => void child.kill());
  let printed = "";
  child.stdout.setEncoding("utf8").on("data", (chunk: string) => {
    printed += chunk;
  });
  return () => printed;
}

function chat(body: object = {}, { apiKey } = pasted()): Promise<Response> {
  return fetch(`${running.origin}/v1/chat/completions`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${apiKey}` },
    body: JSON.stringify({ model: "devnet-chat", messages: [{ role: "user", content: "hello" }], ...body }),
  });
}

async function account() {
  const { data } = await ask(running.origin, pasted().managementKey, ACCOUNT);
  return data.viewer.account;
}

/** The account once the process holds none of its money, which it gives back when a key has been idle for seconds. */
async function accountAtRest() {
  return until(async () => {
    const found = await account();
    return found.balance.held === "0" && found;
  });
}

test("a bare start says first that its network is for development, and prints its secrets once and never logs them", () => {
  const [starting, first] = running.stdout().trim().split(/\n+/);
  expect(starting).toMatch(/^zerograph is starting/);
  expect(first).toContain("DEVELOPMENT NETWORK");
  const { apiKey, managementKey } = pasted();
  expect(apiKey).toMatch(/^sk-\w{49}$/);
  expect(managementKey).toMatch(/^mk-\w{49}$/);
  expect(running.stderr()).not.toMatch(/[sm]k-\w{49}/);
});

test.skipIf(!hasCurl)("the three printed commands work as pasted", async () => {
  const { chat, query, subscribe } = pasted();
  const events = pasteOn(subscribe);
  const causes = () => [...events().matchAll(/"cause":"(\w+)"/g)].map(([, cause]) => cause);
  let answer = "";
  // The stream opens concurrently with the chats, and misses the hold of the first.
  await until(async () => {
    answer = await paste(chat);
    return causes().includes("SETTLEMENT");
  });
  // Once nothing is held, the next chat holds money again.
  await until(async () => (await account()).balance.held === "0");
  await paste(chat);
  await until(() => causes().includes("HOLD"));
  expect(events()).toMatch(/"cursor":"\S+"/);
  expect(answer).toMatch(/^data: \{[\s\S]*\ndata: \[DONE\]\n\n$/);
  const { data } = JSON.parse(await paste(query));
  const [newest] = data.viewer.account.requests.edges;
  expect(newest.node).toMatchObject({
    status: "COMPLETED",
    provider: { address: expect.stringMatching(/^0x/) },
  });
  expect(BigInt(newest.node.cost.total)).toBeGreaterThan(0n);
});

test("npm run status prints the values of the banner as JSON while the process runs", async () => {
  const { chat, query, subscribe, apiKey, managementKey } = pasted();
  const status = { script: "dist/gateway/cli/status.js", args: ["--json"] };
  const statusRun = await runProcess({ ...status, settings: { DATA_DIR: folder } });
  expect(statusRun.code).toBe(0);
  expect(JSON.parse(statusRun.stdout)).toMatchObject({
    running: true,
    development: true,
    pid: running.pid,
    urls: { origin: running.origin, openai: `${running.origin}/v1`, graphql: `${running.origin}/graphql` },
    chain: { rpcUrl: expect.stringMatching(/^http:/), id: 16_602 },
    keys: { apiKey, managementKey },
    commands: { chat, query, subscribe },
  });
  const elsewhere = await runProcess({ ...status, settings: { DATA_DIR: newFolder() } });
  expect([elsewhere.code, elsewhere.stdout]).toEqual([1, '{"running":false}\n']);
});

test.skipIf(!hasCurl)("a deposit is made and credited as docs/networks.md says", async () => {
  const page = readFileSync("docs/networks.md", "utf8");
  const [, block = ""] =
    /## Deposits on the development network[\s\S]*?```sh\n([\s\S]*?)```/.exec(page) ?? [];
  const [, rpcUrl = ""] = /(http:\S+) \(chain \d+\)/.exec(running.stdout()) ?? [];
  const commands = block
    .replace(/ORIGIN=\S+/, `ORIGIN=${running.origin}`)
    .replace(/RPC_URL=\S+/, `RPC_URL=${rpcUrl}`);
  const balance = async () => BigInt((await accountAtRest()).balance.total);
  const before = await balance();
  const run = async (text: string) => {
    const { stdout } = await promisify(execFile)("bash", ["-c", text]);
    expect(stdout).toContain('"result":"0x');
  };
  await run(commands);
  await until(async () => (await balance()) === before + 10n ** 18n);
  // For another account, here the same one.
  const [, from = ""] = /"from":"0x(\w{40})"/.exec(commands) ?? [];
  expect(page).toContain("`0xaa67c919`, 24 zeros");
  await run(commands.replace('"data":"0xd0e30db0"', `"data":"0xaa67c919${"0".repeat(24)}${from}"`));
  await until(async () => (await balance()) === before + 2n * 10n ** 18n);
});

test("a folder in use is refused in one line before anything is written, and its process continues", async () => {
  const taken = newFolder();
  const lock = lockFolder(taken);
  const before = await accountAtRest();
  const refused = await Promise.all(
    [folder, taken].map((path) => runProcess({ settings: { DATA_DIR: path } })),
  );
  lock.release();
  for (const { code, stdout, stderr } of refused) {
    expect(code).toBe(1);
    expect(stdout).toMatch(/^zerograph is starting[^\n]*\n$/);
    expect(stderr).toMatch(/^DATA_DIR: the folder \S+ is in use by another process\. .*\n$/);
  }
  expect(readdirSync(taken, { recursive: true }).join()).not.toMatch(/anvil|postgres|demo|status/);
  expect(await account()).toEqual(before);
  expect((await chat()).status).toBe(200);
});

test("SIGTERM lets a running stream finish, and after a restart keys, money and requests are unchanged", async () => {
  const keys = pasted();
  const [chain = 0] = await chainsOf(running.pid);
  expect(await isAlive(chain)).toBe(true);
  // Its head is read by the server, its body is still to come.
  const half = request(`${running.origin}/v1/chat/completions`, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      authorization: `Bearer ${keys.apiKey}`,
      expect: "100-continue",
    },
  });
  half.flushHeaders();
  await once(half, "continue");
  const before = await account();
  const ending = running.end("SIGTERM");
  await until(() =>
    fetch(running.origin).then(
      () => false,
      () => true,
    ),
  );
  const replied = once(half, "response");
  half.end(
    JSON.stringify({ model: "devnet-chat", stream: true, messages: [{ role: "user", content: "sea" }] }),
  );
  const [reply] = await replied;
  expect(await text(reply)).toMatch(/data: \[DONE\]\n\n$/);
  expect(await ending).toEqual({ code: 0, signal: null });
  expect(await isAlive(chain)).toBe(false);
  running = await startReady({ settings: { DATA_DIR: folder }, onEnd });
  expect(pasted()).toMatchObject({ apiKey: keys.apiKey, managementKey: keys.managementKey });
  const after = await account();
  const [streamed, ...earlier] = after.requests.nodes;
  expect(earlier).toEqual(before.requests.nodes);
  expect(streamed.status).toBe("COMPLETED");
  expect(BigInt(after.balance.total)).toBe(BigInt(before.balance.total) - BigInt(streamed.cost.total));
});

test("a signal to npm ends the program that it started", async () => {
  const { PATH, HOME, TMPDIR } = process.env;
  const env = { PATH, HOME, TMPDIR, PORT: "0", ENV_FILE: "", DATA_DIR: newFolder() };
  const npm = spawn("npm", ["start"], { env, stdio: ["ignore", "pipe", "ignore"] });
  let output = "";
  npm.stdout.setEncoding("utf8").on("data", (text: string) => {
    output += text;
  });
  await until(() => output.includes("zerograph is starting"));
  const started = await childrenOf(npm.pid ?? 0);
  expect(started).toHaveLength(1);
  npm.kill();
  await until(async () => !(await Promise.all(started.map(isAlive))).includes(true));
});
