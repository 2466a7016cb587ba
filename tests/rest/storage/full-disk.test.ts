import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { text } from "node:stream/consumers";
import { expect, onTestFinished, test } from "vitest";
import { DEMO_USER } from "../../../src/devnet/chain/accounts.ts";
import { ask } from "../../support/clients/graph-client.ts";
import { newFolder } from "../../support/servers/process.ts";
import { useStack } from "../../support/stack.ts";
import { prepareFile, startPublisher } from "../../support/storage/publisher.ts";
import { mountSmallDisk } from "../../support/storage/small-disk.ts";
import { until } from "../../support/until.ts";

let disk: ReturnType<typeof mountSmallDisk>;
const stack = useStack(async (onEnd) => {
  disk = mountSmallDisk(1_024, onEnd);
  return { STORAGE_DIR: disk?.folder ?? newFolder(onEnd), STORAGE_CACHE_MIB: "0", LOG_LEVEL: "info" };
});

const MESSAGE = "The storage disk is unusable: no space left. Try again later.";
const UPLOAD =
  "mutation ($input: UploadSegmentInput!) { uploadSegment(input: $input) { userErrors { message } } }";

/** Runs the client's command as the demo user. */
async function runCommand(words: readonly string[]) {
  const { PATH = "", TMPDIR = "" } = process.env;
  const cli = resolve("packages/client/src/cli.ts");
  const child = spawn(
    resolve("scripts/node"),
    ["--import", resolve("node_modules/tsx/dist/esm/index.mjs"), cli, ...words],
    { env: { PATH, TMPDIR, ZEROGRAPH_URL: stack().origin, ZEROGRAPH_WALLET_KEY: DEMO_USER.privateKey } },
  );
  onTestFinished(() => void child.kill("SIGKILL"));
  const texts = Promise.all([text(child.stdout), text(child.stderr)]);
  const [status] = await once(child, "close");
  const [stdout, stderr] = await texts;
  return { status, stdout, stderr };
}

test("a disk that becomes full refuses uploads until it has space, and its files are served", async ({
  skip,
}) => {
  if (!disk) return skip();
  const { origin, logged } = stack();
  const publisher = await startPublisher(stack());
  const stored = await publisher.publish(randomBytes(100_000));
  const file = prepareFile(randomBytes(500_000));
  await publisher.submit(file);
  const bytesOf = async (root: string) => {
    const reply = await fetch(`${origin}/file?root=${root}`);
    return [reply.status, Buffer.from(await reply.arrayBuffer())] as const;
  };
  const ready = async () => {
    const reply = await fetch(`${origin}/readyz`);
    const { parts } = (await reply.json()) as { parts: { storage: string } };
    return [reply.status, parts.storage];
  };
  const lines = (line: string) => logged().split(line).length - 1;

  const filler = join(disk.folder, "filler");
  expect(() => writeFileSync(filler, Buffer.alloc(2_097_152))).toThrow("ENOSPC");
  for (const segment of file.segments) {
    const reply = await publisher.post({ root: file.root, ...segment });
    expect([reply.status, await reply.json()]).toEqual([
      503,
      { code: 2, message: "Internal server error", data: MESSAGE },
    ]);
    expect(Number(reply.headers.get("retry-after"))).toBeGreaterThan(0);
  }
  const wire = file.segments.map((segment) => ({ ...segment, root: file.root, fileSize: file.sizeBytes }));
  const call = { jsonrpc: "2.0", id: 1, method: "zgs_uploadSegments", params: [wire] };
  const headers = { "content-type": "application/json" };
  const rpc = await fetch(origin, { method: "POST", headers, body: JSON.stringify(call) });
  expect([rpc.status, await rpc.json()]).toEqual([
    200,
    { jsonrpc: "2.0", id: 1, error: { code: -32_000, message: MESSAGE } },
  ]);
  const { errors } = await ask(origin, "", UPLOAD, { input: { root: file.root, ...file.segments[0] } });
  expect(errors).toMatchObject([{ message: MESSAGE, extensions: { code: "unavailable" } }]);
  const path = join(newFolder(onTestFinished), "file");
  writeFileSync(path, randomBytes(300_000));
  const put = await runCommand(["files", "put", path, "--json"]);
  expect([put.status, JSON.parse(put.stderr)]).toEqual([
    1,
    { error: { code: "unavailable", message: expect.stringContaining(MESSAGE) } },
  ]);
  expect(put.stderr).toContain("The transaction is paid. Run the command again");
  expect(await ready()).toEqual([200, "no space left"]);
  expect(await bytesOf(stored.root)).toEqual([200, stored.content]);
  expect((await bytesOf(file.root))[0]).toBe(409);

  rmSync(filler);
  await until(async () => (await ready())[1] === "ok");
  for (const segment of file.segments)
    expect((await publisher.post({ root: file.root, ...segment })).status).toBe(200);
  expect(await bytesOf(file.root)).toEqual([200, file.content]);
  const again = await runCommand(["files", "put", path, "--json"]);
  expect([again.status, again.stderr]).toEqual([0, ""]);
  expect(JSON.parse(again.stdout)).toMatchObject({ feeNeuron: "0" });
  expect(lines("STORAGE_DIR cannot be written")).toBe(1);
  expect(lines("STORAGE_DIR can be written again")).toBe(1);
  for (const other of ["a JSON-RPC call failed", "a request failed", "a GraphQL request failed"])
    expect(lines(other), other).toBe(0);
});
