// @module-tag large
import { execFileSync, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import {
  closeSync,
  openSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { readFile } from "node:fs/promises";
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { join, resolve } from "node:path";
import { text } from "node:stream/consumers";
import { generatePrivateKey } from "viem/accounts";
import { describe, expect, onTestFinished, test } from "vitest";
import { type WebSocket, WebSocketServer } from "ws";
import { hashFile } from "../../packages/client/src/files/file-tree.ts";
import { DEMO_USER } from "../../src/devnet/chain/accounts.ts";
import { newId } from "../../src/kernel/text/ids.ts";
import { ask } from "../support/clients/graph-client.ts";
import { seedAccount } from "../support/seed.ts";
import type { OnEnd } from "../support/servers/database.ts";
import { newFolder } from "../support/servers/process.ts";
import { SERVICES, useServices } from "../support/services.ts";
import { useStack } from "../support/stack.ts";
import { until } from "../support/until.ts";
import { answerWith, startReceiver, verify } from "../support/webhooks/receiver.ts";

const stack = useStack();
useServices(stack, ["images"]);

const CLI = resolve("packages/client/src/cli.ts");
const NOBODY = "http://127.0.0.1:1";

type Run = { readonly status: number; readonly stdout: string; readonly stderr: string };
type Environment = Readonly<Record<string, string>>;

/** Starts the command in an empty folder, without any environment but the given one. */
function start(
  words: readonly string[],
  env: Environment = {},
  { cwd = emptyFolder(), stdout = "pipe" }: { readonly cwd?: string; readonly stdout?: "pipe" | number } = {},
) {
  const { PATH = "", TMPDIR = "" } = process.env;
  const args = ["--import", resolve("node_modules/tsx/dist/esm/index.mjs"), CLI, ...words];
  const child = spawn(resolve("scripts/node"), args, {
    cwd,
    env: { PATH, TMPDIR, ZEROGRAPH_URL: stack().origin, ...env },
    stdio: ["ignore", stdout, "pipe"],
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  const texts = Promise.all(
    [child.stdout, child.stderr].map((stream) => (stream ? text(stream).catch(() => "") : "")),
  );
  const ended = once(child, "close").then(async ([status, signal]): Promise<Run & { signal: unknown }> => {
    const [out = "", err = ""] = await texts;
    return { status, signal, stdout: out, stderr: err };
  });
  return { child, ended };
}

/** Sends a request on to the gateway, and its answer back. */
async function forward(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { method = "GET", url = "/", headers } = request;
  const body = method === "GET" ? null : await text(request);
  const type = String(headers["content-type"] ?? "application/json");
  const answer = await fetch(`${stack().origin}${url}`, { method, body, headers: { "content-type": type } });
  response.writeHead(answer.status, { "content-type": answer.headers.get("content-type") ?? "" });
  response.end(Buffer.from(await answer.arrayBuffer()));
}

async function zerograph(words: readonly string[], env: Environment = {}, cwd = emptyFolder()): Promise<Run> {
  return start(words, env, { cwd }).ended;
}

/** A server that answers every request in the same way, and accepts WebSockets if given a handler. Returns its origin. */
async function startServer(answer: RequestListener, take?: (socket: WebSocket) => void): Promise<string> {
  const server = createServer(answer).listen(0, "127.0.0.1");
  if (take) new WebSocketServer({ server }).on("connection", take);
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

function emptyFolder(): string {
  return newFolder((end) => onTestFinished(end));
}

/** A socket of the graph that ends an image job in one event, which has no job. */
function endJob(socket: WebSocket): void {
  const imageJobProgress = {
    id: "e",
    cursor: "c",
    sequence: 5,
    step: "COMPLETED",
    status: "COMPLETED",
    job: null,
  };
  socket.on("message", (message) => {
    const { id, type } = JSON.parse(String(message)) as { readonly id?: string; readonly type: string };
    const send = (answer: object) => socket.send(JSON.stringify(answer));
    if (type === "connection_init") send({ type: "connection_ack" });
    if (type !== "subscribe") return;
    send({ id, type: "next", payload: { data: { imageJobProgress } } });
    send({ id, type: "complete" });
  });
}

async function newOwner(neuron = 10n ** 12n) {
  const { account, secret } = await seedAccount(stack().app.database, neuron);
  const scopes = ["keys:read", "keys:create", "keys:manage"] as const;
  const { secret: mk } = await stack().app.managementKeys.create(account, newId(), [...scopes]);
  return { account, secret, env: { ZEROGRAPH_KEY: secret, ZEROGRAPH_MANAGEMENT_KEY: mk } };
}

describe("zerograph", () => {
  test("status prints whether the gateway is ready, and has status 3 without one", async () => {
    const { status, stdout } = await zerograph(["status", "--json"]);
    expect([status, JSON.parse(stdout)]).toEqual([
      0,
      { url: stack().origin, ready: true, parts: expect.any(Object) },
    ]);
    const gone = await zerograph(["status", "--json", "--url", NOBODY]);
    expect([gone.status, gone.stdout]).toEqual([3, ""]);
    expect(JSON.parse(gone.stderr)).toMatchObject({ error: { code: "connection_lost" } });
    expect((await zerograph(["status", "--url", NOBODY])).stderr).toMatch(/^The gateway cannot be reached/);
  });

  test("uses the address and the keys of the product that runs in the folder, and its keys nowhere else", async () => {
    const { secret } = await newOwner();
    const data = emptyFolder();
    const keys = { apiKey: secret, managementKey: "mk-wrong", walletKey: DEMO_USER.privateKey };
    writeFileSync(join(data, "status.json"), JSON.stringify({ urls: { origin: stack().origin }, keys }));
    const env = { ZEROGRAPH_URL: "", DATA_DIR: data };
    const { stdout } = await zerograph(["doctor", "--json"], env);
    const results = JSON.parse(stdout) as readonly { check: string; result: string; detail: string }[];
    expect(results.find(({ check }) => check === "gateway")?.detail).toContain("this folder");
    expect(results.find(({ check }) => check === "sk- key")?.result).toBe("ok");
    writeFileSync(join(data, "sea.bin"), randomBytes(1_000));
    const put = await zerograph(["files", "put", join(data, "sea.bin"), "--json"], env);
    expect([put.status, put.stderr]).toEqual([0, ""]);
    const elsewhere = await zerograph(["chat", "x", "--url", NOBODY, "--json"], env);
    expect(JSON.parse(elsewhere.stderr)).toMatchObject({ error: { code: "usage" } });
  });

  test("doctor checks connections and keys, and names what is wrong", async () => {
    const { env } = await newOwner();
    const { status, stdout } = await zerograph(["doctor", "--json"], env);
    const results = JSON.parse(stdout) as readonly { check: string; result: string }[];
    expect(results.filter(({ result }) => result !== "ok")).toEqual([]);
    expect(results.map(({ check }) => check)).toEqual(
      expect.arrayContaining(["websocket", "server-sent events"]),
    );
    expect(status).toBe(0);
    const wrong = await zerograph(["doctor"], { ...env, ZEROGRAPH_KEY: "sk-wrong" });
    expect(wrong.status).toBe(1);
    expect(wrong.stdout).toMatch(/^FAILED {2}sk- key: .*\(invalid_api_key\)$/m);
    expect(wrong.stdout).toMatch(/^ok {6}mk- key: /m);
  });

  test("doctor does not check what needs the graph of a gateway that cannot be reached", async () => {
    const { env } = await newOwner();
    const { status, stdout } = await zerograph(["doctor", "--json", "--url", NOBODY], env);
    const results = JSON.parse(stdout) as readonly { check: string; result: string; detail: string }[];
    const checks = Object.fromEntries(results.map(({ check, result }) => [check, result]));
    expect([status, checks]).toEqual([
      1,
      {
        node: "ok",
        gateway: "failed",
        graph: "failed",
        websocket: "not_checked",
        "server-sent events": "not_checked",
        "sk- key": "not_checked",
        "mk- key": "not_checked",
      },
    ]);
    expect(stdout).not.toContain("proxy");
  });

  test("words after -- are no options", async () => {
    const { env } = await newOwner();
    const created = await zerograph(["keys", "create", "--", "--json"], env);
    expect([created.status, created.stdout]).toEqual([0, expect.stringMatching(/^sk-\S+\nThe secret/)]);
    const listed = JSON.parse((await zerograph(["keys", "list", "--json", "--"], env)).stdout);
    expect(listed).toContainEqual(expect.objectContaining({ name: "--json" }));
    expect((await zerograph(["chat", "--", "--json"], env)).stdout).toMatch(/neuron, request \S+\n$/);
  });

  test("webhooks are created, tested, listed, replayed and deleted", async () => {
    const receiver = await startReceiver(onTestFinished as OnEnd);
    const { account } = await newOwner();
    const scopes = ["account:read", "keys:manage"] as const;
    const { secret: mk } = await stack().app.managementKeys.create(account, newId(), [...scopes]);
    const run = async (...words: string[]) => {
      const done = await zerograph(["webhooks", ...words, "--json"], { ZEROGRAPH_MANAGEMENT_KEY: mk });
      return [done.status, JSON.parse(done.stdout || done.stderr)];
    };
    const [, made] = await run("create", receiver.url, "job.ended", "balance.low", "--threshold", "5");
    expect(made).toMatchObject({
      name: new URL(receiver.url).host,
      events: ["job.ended", "balance.low"],
      balance_threshold: "5",
      secret: expect.stringMatching(/^whsec_/),
    });
    // Its cursor passes over events that do not concern it.
    const { secret, webhook_id: id, cursor: _start, ...webhook } = made;
    expect(await run("test", id)).toMatchObject([0, { delivered: true, status: 204, failure: null }]);
    expect(receiver.types()).toEqual(["webhook.test"]);
    for (const delivery of receiver.received) verify(delivery, secret);
    expect(await run("list")).toMatchObject([0, [{ webhook_id: id, ...webhook }]]);
    expect(await run("replay", id, made.cursor)).toMatchObject([0, { webhook_id: id }]);
    expect(await run("rotate", id)).toMatchObject([0, { secret: expect.stringMatching(/^whsec_/) }]);
    expect(await run("disable", id)).toMatchObject([0, { status: "disabled", disabled_reason: "owner" }]);
    expect(await run("enable", id)).toMatchObject([0, { status: "active", disabled_reason: null }]);
    receiver.answer = answerWith(500);
    expect(await run("test", id)).toMatchObject([1, { delivered: false, status: 500, failure: "refused" }]);
    expect(await run("delete", id)).toEqual([0, { webhook_id: id, deleted: true }]);
    expect(await run("test", id)).toMatchObject([1, { error: { code: "webhook_not_found" } }]);
    expect(await run("create", receiver.url, "api_key.created")).toMatchObject([
      1,
      { error: { code: "insufficient_scope" } },
    ]);
  });

  test("keys are created, listed and revoked", async () => {
    const { env } = await newOwner();
    const created = JSON.parse((await zerograph(["keys", "create", "laptop", "--json"], env)).stdout);
    expect(created).toMatchObject({ name: "laptop", key: expect.stringMatching(/^sk-/) });
    const chat = await zerograph(["chat", "What is the sea?", "--json"], { ZEROGRAPH_KEY: created.key });
    expect(chat.status).toBe(0);
    expect((await zerograph(["keys", "revoke", created.key_id], env)).status).toBe(0);
    const listed = JSON.parse((await zerograph(["keys", "list", "--json"], env)).stdout);
    expect(listed).toContainEqual(expect.objectContaining({ key_id: created.key_id, status: "revoked" }));
    const refused = await zerograph(["chat", "x", "--json"], { ZEROGRAPH_KEY: created.key });
    expect([refused.status, JSON.parse(refused.stderr).error.code]).toEqual([1, "api_key_revoked"]);
    const missing = await zerograph(["keys", "revoke", newId(), "--json"], env);
    expect([missing.status, JSON.parse(missing.stderr).error.code]).toEqual([1, "api_key_not_found"]);
  });

  test("keys list lists all keys, however many pages they have, and notices pages without an end", async () => {
    const env = { ZEROGRAPH_MANAGEMENT_KEY: "mk-1" };
    const pages = 120;
    const list = (end: number) =>
      startServer(({ url = "" }, response) => {
        const page = Number(new URL(url, NOBODY).searchParams.get("cursor") ?? 0) + 1;
        const data = [{ key_id: `${page}`, name: "k", status: "active", last_used_at: null }];
        response.end(JSON.stringify({ data, next_cursor: page === end ? null : `${page % pages}` }));
      });
    const all = await zerograph(["keys", "list", "--json", "--url", await list(pages)], env);
    expect(JSON.parse(all.stdout)).toHaveLength(pages);
    const endless = await zerograph(["keys", "list", "--json", "--url", await list(-1)], env);
    expect([endless.status, JSON.parse(endless.stderr).error.code]).toEqual([1, "invalid_answer"]);
  });

  test("the path of a proxy in front of the gateway is part of its address", async () => {
    const requested: (string | undefined)[] = [];
    const origin = await startServer(({ url }, response) => {
      requested.push(url);
      response.end(JSON.stringify({ status: "ready", parts: {} }));
    });
    for (const end of ["/zg", "/zg/", "/zg/graphql", "/zg/v1", "/v1/", ""]) {
      const { status, stdout } = await zerograph(["status", "--json", "--url", `${origin}${end}`]);
      expect([status, JSON.parse(stdout).url]).toEqual([0, origin + (end.startsWith("/zg") ? "/zg" : "")]);
    }
    expect(requested).toEqual([...Array.from({ length: 4 }, () => "/zg/readyz"), "/readyz", "/readyz"]);
    for (const wrong of [`${origin}?key=1`, `${origin}/#a`, "http://me:hunter2@127.0.0.1:1"]) {
      const { status, stderr } = await zerograph(["status", "--json", "--url", wrong]);
      expect([status, JSON.parse(stderr).error.code, stderr.includes("hunter2")]).toEqual([
        2,
        "usage",
        false,
      ]);
    }
  });

  test("chat prints the answer, then its model, provider and cost", async () => {
    const { env } = await newOwner();
    const { status, stdout } = await zerograph(["chat", "What", "is", "the", "sea?"], env);
    expect(status).toBe(0);
    expect(stdout).toMatch(/^\S.*\n\n\S+ at 0x[0-9a-fA-F]{40}, [1-9]\d* neuron, request \S+\n$/s);
  });

  test("jobs watch follows a job to its end, and stores its images", async () => {
    const { account, env, secret } = await newOwner();
    const input = `{ model: "${SERVICES.images.model}", prompt: "a sea", size: "8x8" }`;
    const mutation = `mutation { submitImageJob(input: ${input}) { imageJob { jobId } } }`;
    const { data } = await ask(stack().origin, secret, mutation);
    const id: string = data.submitImageJob.imageJob.jobId;
    const folder = emptyFolder();
    const { status, stdout } = await zerograph(
      ["jobs", "watch", id, "--json", "--out", "images"],
      env,
      folder,
    );
    expect(status).toBe(0);
    const steps = stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(steps.at(-1)).toMatchObject({ status: "COMPLETED", step: "COMPLETED" });
    const sequences = steps.map(({ sequence }) => sequence);
    expect(sequences).toEqual(sequences.map((_, n) => sequences[0] + n));
    expect(readdirSync(join(folder, "images"))).toEqual([`${id}-1.png`]);
    const { secret: reading } = await stack().app.managementKeys.create(account, newId(), ["account:read"]);
    const watchOnly = { ZEROGRAPH_MANAGEMENT_KEY: reading };
    const noImages = await zerograph(["jobs", "watch", id, "--json", "--out", "other"], watchOnly, folder);
    expect([noImages.status, JSON.parse(noImages.stderr).error.code]).toEqual([1, "insufficient_scope"]);
    expect((await zerograph(["jobs", "watch", id, "--json"], watchOnly)).status).toBe(0);
    const missing = await zerograph(["jobs", "watch", newId(), "--json"], env);
    expect([missing.status, JSON.parse(missing.stderr).error.code]).toEqual([1, "async_job_not_found"]);
  });

  test.each([
    ["fetches the images", { data: { data: [{ b64_json: "c2Vh" }] } }, 0, "sea"],
    ["fails without images", { errorMessage: "The result is no longer stored." }, 1, undefined],
  ])("jobs watch %s of a completed job whose last event came without them", async (_, job, status, image) => {
    const origin = await startServer(({ url }, response) => {
      const isJob = url === "/v1/async/jobs/1";
      response.end(JSON.stringify(isJob ? { status: "completed", ...job } : { status: "ok", parts: {} }));
    }, endJob);
    const folder = emptyFolder();
    const words = ["jobs", "watch", "1", "--json", "--out", "images", "--url", origin];
    const watched = await zerograph(words, { ZEROGRAPH_KEY: "sk-1" }, folder);
    expect(watched.status).toBe(status);
    if (image === undefined)
      expect(JSON.parse(watched.stderr).error).toMatchObject({
        code: "images_missing",
        message: expect.stringContaining("no longer stored"),
      });
    else expect(readFileSync(join(folder, "images", "1-1.png"), "utf8")).toBe(image);
  });

  test("jobs watch names each image by its format", async () => {
    const starts = {
      jpg: "\xff\xd8\xff\xe0",
      webp: "RIFF\x10\0\0\0WEBPVP8 ",
      gif: "GIF89a",
      avif: "\0\0\0\x1cftypavif",
      png: "\x89PNG",
    };
    const images = Object.values(starts).map((start) => ({
      b64_json: Buffer.from(start, "latin1").toString("base64"),
    }));
    const origin = await startServer(({ url }, response) => {
      const isJob = url === "/v1/async/jobs/1";
      const job = { status: "completed", data: { data: images } };
      response.end(JSON.stringify(isJob ? job : { status: "ok", parts: {} }));
    }, endJob);
    const folder = emptyFolder();
    const words = ["jobs", "watch", "1", "--json", "--out", "images", "--url", origin];
    expect((await zerograph(words, { ZEROGRAPH_KEY: "sk-1" }, folder)).status).toBe(0);
    expect(readdirSync(join(folder, "images")).sort()).toEqual(
      Object.keys(starts).map((suffix, at) => `1-${at + 1}.${suffix}`),
    );
  });

  test("files put submits and uploads a file, which files get downloads byte for byte", async () => {
    const folder = emptyFolder();
    const content = randomBytes(300_000);
    writeFileSync(join(folder, "sea.bin"), content);
    const env = { ZEROGRAPH_WALLET_KEY: DEMO_USER.privateKey };
    const put = await zerograph(["files", "put", "sea.bin", "--json"], env, folder);
    expect([put.status, put.stderr]).toEqual([0, ""]);
    const stored = JSON.parse(put.stdout);
    expect(stored).toMatchObject({ sizeBytes: 300_000, segments: 2, transactionHash: expect.any(String) });
    const got = await zerograph(["files", "get", stored.root, "--out", "copy.bin", "--json"], {}, folder);
    expect([got.status, JSON.parse(got.stdout)]).toEqual([
      0,
      { root: stored.root, path: "copy.bin", sizeBytes: 300_000 },
    ]);
    expect(readFileSync(join(folder, "copy.bin")).equals(content)).toBe(true);
    const missing = await zerograph(["files", "get", `0x${"ab".repeat(32)}`, "--json"], {}, folder);
    expect([missing.status, JSON.parse(missing.stderr).error.code]).toEqual([1, "not_found"]);
    expect(readdirSync(folder).sort()).toEqual(["copy.bin", "sea.bin"]);
  });

  test("files put sends a segment again after a rate limit, an overload and a broken connection", async () => {
    const folder = emptyFolder();
    const content = randomBytes(1_000);
    writeFileSync(join(folder, "sea.bin"), content);
    const faults = [429, "cut", 503] as const;
    let segments = 0;
    const url = await startServer((request, response) => {
      const fault = request.url === "/file/segment" ? faults[segments++] : undefined;
      if (fault === "cut") return void request.socket.destroy();
      if (fault !== undefined) return void response.writeHead(fault, { "retry-after": "0" }).end("{}");
      void forward(request, response);
    });
    const env = { ZEROGRAPH_WALLET_KEY: DEMO_USER.privateKey, ZEROGRAPH_URL: url };
    const put = await zerograph(["files", "put", "sea.bin", "--json"], env, folder);
    expect([put.status, put.stderr]).toEqual([0, ""]);
    const download = await fetch(`${stack().origin}/file?root=${JSON.parse(put.stdout).root}`);
    expect(Buffer.from(await download.arrayBuffer()).equals(content)).toBe(true);
    expect(segments).toBeGreaterThan(faults.length);
  });

  test("files put submits what it reads of a pipe, whose size is not known before", async () => {
    const folder = emptyFolder();
    const content = randomBytes(300_000);
    writeFileSync(join(folder, "sea.bin"), content);
    execFileSync("mkfifo", ["pipe"], { cwd: folder });
    const writer = spawn("sh", ["-c", "cat sea.bin > pipe"], { cwd: folder });
    onTestFinished(() => void writer.kill("SIGKILL"));
    const env = { ZEROGRAPH_WALLET_KEY: DEMO_USER.privateKey };
    const put = await zerograph(["files", "put", "pipe", "--json"], env, folder);
    expect([put.status, put.stderr]).toEqual([0, ""]);
    const stored = JSON.parse(put.stdout);
    expect(stored).toMatchObject({ sizeBytes: 300_000, segments: 2 });
    const download = await fetch(`${stack().origin}/file?root=${stored.root}`);
    expect(Buffer.from(await download.arrayBuffer()).equals(content)).toBe(true);
    const endless = await zerograph(["files", "put", "/dev/zero"], env, folder);
    expect([endless.status, endless.stderr]).toEqual([
      2,
      expect.stringContaining("more than 268435456 bytes"),
    ]);
    const empty = await zerograph(["files", "put", "/dev/null"], env, folder);
    expect([empty.status, empty.stderr]).toEqual([2, expect.stringContaining("has 0 bytes")]);
  });

  test("files get stores nothing but the file of this root, and replaces only regular files", async () => {
    const content = randomBytes(700_000);
    const { root } = await hashFile(content, () => {});
    const right = await startServer((_, response) => void response.end(content));
    const folder = emptyFolder();
    writeFileSync(join(folder, "notes"), "my notes");
    writeFileSync(join(folder, "copy.part"), "mine");
    symlinkSync("notes", join(folder, "link"));
    for (const answer of [content.subarray(1), "<html>sign in</html>", ""]) {
      const wrong = await startServer((_, response) => void response.end(answer));
      const got = await zerograph(
        ["files", "get", root, "--out", "link", "--json", "--url", wrong],
        {},
        folder,
      );
      expect([got.status, JSON.parse(got.stderr).error.code]).toEqual([1, "root_mismatch"]);
      expect(readFileSync(join(folder, "notes"), "utf8")).toBe("my notes");
    }
    const get = (out: string) => zerograph(["files", "get", root, "--out", out, "--url", right], {}, folder);
    expect((await get("link")).status).toBe(0);
    expect(readFileSync(join(folder, "notes")).equals(content)).toBe(true);
    expect((await get("copy")).status).toBe(0);
    execFileSync("mkfifo", [join(folder, "pipe")]);
    const [piped, read] = await Promise.all([get("pipe"), readFile(join(folder, "pipe"))]);
    expect([piped.status, read.equals(content)]).toEqual([0, true]);
    expect(statSync(join(folder, "pipe")).isFIFO()).toBe(true);
    expect((await get(".")).status).toBe(2);
    expect(readdirSync(folder).sort()).toEqual(["copy", "copy.part", "link", "notes", "pipe"]);
  });

  test("files get that is interrupted leaves nothing", async () => {
    const folder = emptyFolder();
    const silent = await startServer((_, response) => void response.write("the beginning"));
    const { child, ended } = start(
      ["files", "get", `0x${"ab".repeat(32)}`, "--out", "file", "--url", silent],
      {},
      { cwd: folder },
    );
    await until(() => readdirSync(folder).length === 1);
    child.kill("SIGTERM");
    expect((await ended).signal).toBe("SIGTERM");
    expect(readdirSync(folder)).toEqual([]);
  });

  test("a secret that cannot be written is a failure that names its key", async () => {
    const { env } = await newOwner();
    const full = openSync("/dev/full", "w");
    const { status, stderr } = await start(["keys", "create", "lost"], env, { stdout: full }).ended;
    closeSync(full);
    const listed = JSON.parse((await zerograph(["keys", "list", "--json"], env)).stdout);
    const { key_id: id } = listed.find(({ name }: { name: string }) => name === "lost");
    expect([status, stderr]).toEqual([1, expect.stringMatching(new RegExp(`ENOSPC.*${id}.*revoke it`))]);
  });

  test("chat ends quietly when its reader leaves, and fails for an answer that is cut off", async () => {
    const chunk = `data: ${JSON.stringify({ choices: [{ delta: { content: "sea " } }] })}\n\n`;
    const endless = await startServer((_, response) => {
      const timer = setInterval(() => response.write(chunk), 5);
      response.once("close", () => clearInterval(timer));
    });
    const words = ["chat", "x", "--model", "m", "--url"];
    const key = { ZEROGRAPH_KEY: "sk-1" };
    const { child, ended } = start([...words, endless], key);
    child.stdout?.once("data", () => child.stdout?.destroy());
    expect(await once(child, "exit")).toEqual([0, null]);
    await ended.catch(() => {});
    const cut = await startServer((_, response) => void response.end(chunk));
    const half = await zerograph([...words, cut, "--json"], key);
    expect([half.status, half.stdout, JSON.parse(half.stderr).error.code]).toEqual([1, "", "answer_cut_off"]);
    const odd = await startServer((_, response) => void response.end("data: sea\n\n"));
    expect((await zerograph([...words, odd], key)).stderr).toMatch(/\(invalid_answer\)/);
  });

  test("an answer that is cut off in the middle is a lost connection", async () => {
    for (const code of [200, 400]) {
      const cut = await startServer((_, response) => {
        response.writeHead(code, { "content-length": "1000" }).write('{"data": [');
        setImmediate(() => response.destroy());
      });
      const key = { ZEROGRAPH_MANAGEMENT_KEY: "mk-1" };
      const { status, stderr } = await zerograph(["keys", "list", "--json", "--url", cut], key);
      expect([status, JSON.parse(stderr).error.code]).toEqual([3, "connection_lost"]);
    }
  });

  test("files put says why a wallet cannot pay for a file", async () => {
    const folder = emptyFolder();
    writeFileSync(join(folder, "sea.bin"), randomBytes(1_000));
    const put = ["files", "put", "sea.bin", "--json"];
    const poor = await zerograph(put, { ZEROGRAPH_WALLET_KEY: generatePrivateKey() }, folder);
    const { error } = JSON.parse(poor.stderr);
    expect([poor.status, error.code]).toEqual([1, "transaction_failed"]);
    expect(error.message).not.toMatch(/\n\s+at /);
  });

  test("another server than a gateway is noticed by every command", async () => {
    const page = await startServer((_, response) => {
      response.writeHead(200, { "content-type": "text/html" }).end("<html>sign in</html>");
    });
    const empty = await startServer((_, response) => {
      response.writeHead(200, { "content-type": "application/json" }).end("{}");
    });
    const env = { ZEROGRAPH_KEY: "sk-1", ZEROGRAPH_MANAGEMENT_KEY: "mk-1" };
    for (const url of [page, empty]) {
      for (const words of [
        ["status"],
        ["chat", "x"],
        ["keys", "list"],
        ["keys", "create", "x"],
        ["webhooks", "list"],
        ["jobs", "watch", "x"],
      ]) {
        const { status, stdout, stderr } = await zerograph([...words, "--json", "--url", url], env);
        expect([words, status, stdout, JSON.parse(stderr).error.code]).toEqual([
          ...[words, 1, ""],
          "invalid_answer",
        ]);
      }
      const doctor = await zerograph(["doctor", "--url", url], env);
      expect(doctor.stdout).toMatch(/^FAILED {2}gateway: /m);
    }
  });

  test("jobs watch does not wait for a gateway that cannot be reached", async () => {
    const { status } = await zerograph(["jobs", "watch", "x", "--url", NOBODY], { ZEROGRAPH_KEY: "sk-1" });
    expect(status).toBe(3);
  });

  test.each(["sk-\u00fc", "sk-a b", "sk-a\n"])("a malformed key, %j, is wrong usage", async (key) => {
    const { status, stderr } = await zerograph(["chat", "x"], { ZEROGRAPH_KEY: key });
    expect([status, stderr]).toEqual([2, expect.stringMatching(/^ZEROGRAPH_KEY /)]);
  });

  test.each([
    ["no command", [], 2, /zerograph status/],
    ["an unknown command", ["fly"], 2, /no command fly/],
    ["an unknown option", ["status", "--wings"], 2, /--wings/],
    ["a missing argument", ["keys", "create"], 2, /keys list \| create <name>/],
    ["a webhook without events", ["webhooks", "create", "https://example.com"], 2, /webhooks list \| create/],
    ["an unknown action", ["webhooks", "constructor"], 2, /webhooks list \| create/],
    ["a missing key", ["chat", "x"], 2, /Set ZEROGRAPH_KEY/],
    ["an address of another protocol", ["status", "--url", "ftp://router"], 2, /is not an address/],
    ["an option of another command", ["status", "--model", "x"], 2, /status has no option --model/],
    ["an empty option", ["files", "get", `0x${"ab".repeat(32)}`, "--out", ""], 2, /--out has no value/],
    ["an empty argument", ["keys", "revoke", ""], 2, /keys list \| create <name>/],
    ["an address that is none", ["status", "--url", "router"], 2, /router is not an address/],
    ["a root that is none", ["files", "get", "sea"], 2, /64 hexadecimal digits/],
    ["a wallet's key that is none", ["files", "put", CLI], 2, /ZEROGRAPH_WALLET_KEY/],
    ["a file that is missing", ["files", "put", "missing"], 1, /missing/],
    ["a folder in place of a file", ["files", "put", "."], 2, /^\. is a folder/],
    ["a file in place of a folder", ["jobs", "watch", "x", "--out", CLI], 2, /cli\.ts is a file/],
    ["a start without the product", ["start"], 2, /not in this folder/],
    ["a receipt that is missing", ["verify", "missing.json"], 2, /missing.json/],
  ])("explains %s", async (_, words, expected, text) => {
    const { status, stdout, stderr } = await zerograph(words);
    expect([status, stdout]).toEqual([expected, ""]);
    expect(stderr).toMatch(text);
  });

  test.each([
    [["missing.json"], "file_error"],
    [[], "usage"],
    [["--wings"], "usage"],
    [["package.json"], "invalid_bundle"],
  ])("verify %j --json prints its failure as JSON", async (words, code) => {
    const folder = emptyFolder();
    writeFileSync(join(folder, "package.json"), "not a bundle");
    const { status, stdout, stderr } = await zerograph(["verify", ...words, "--json"], {}, folder);
    expect([status, stdout, JSON.parse(stderr).error.code]).toEqual([2, "", code]);
  });

  test("help names every command", async () => {
    const { status, stdout } = await zerograph(["help"]);
    expect(status).toBe(0);
    for (const name of [
      "start",
      "status",
      "doctor",
      "chat",
      "keys",
      "webhooks",
      "jobs watch",
      "files put",
      "verify",
    ])
      expect(stdout).toContain(`zerograph ${name}`);
  });
});
