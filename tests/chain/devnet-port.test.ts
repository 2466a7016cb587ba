// @module-tag large
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { startDevnet } from "../../src/devnet/devnet.ts";
import { createLogger } from "../../src/kernel/log.ts";

test("the development chain keeps its port across restarts, and uses another one only while it is in use", async () => {
  const folder = mkdtempSync(join(tmpdir(), "devnet-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const lines: string[] = [];
  const log = createLogger("warn", { write: (line) => void lines.push(line) });
  const urlOfRun = async () => {
    const devnet = await startDevnet({ folder, log });
    await devnet.stop();
    return devnet.rpcUrl;
  };
  let first = await urlOfRun();
  for (let next = await urlOfRun(); next !== first; next = await urlOfRun()) {
    // Between two runs another program of this machine may take the port, which is logged.
    expect(lines.splice(0).join()).toContain("the development chain's port is taken");
    first = next;
  }
  const server = createServer().listen(Number(new URL(first).port), "127.0.0.1");
  onTestFinished(() => void server.close());
  await once(server, "listening");
  expect(await urlOfRun()).not.toBe(first);
  expect(lines.join()).toContain("the development chain's port is taken");
});
