// @module-tag large
import { connect, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { beforeEach, expect, test } from "vitest";
import { type Seeded, seedAccount } from "../../support/seed.ts";
import { useStack } from "../../support/stack.ts";
import { until } from "../../support/until.ts";

const stack = useStack({ BODY_MS: "400", UPLOAD_MS: "1500" });

let owner: Seeded;
beforeEach(async () => {
  owner = await seedAccount(stack().app.database, 1_000n);
});

test("a body that does not arrive is 408, and its connection is closed", async () => {
  for (const path of ["/v1/chat/completions", "/v1/messages", "/graphql"]) {
    const { heard, socket } = open(path, { secret: owner.secret, bytes: 100 });
    socket.write("{");
    await until(async () => expect(socket.destroyed).toBe(true), 3_000);
    expect(heard(), path).toMatch(/^HTTP\/1\.1 408 /);
    expect(heard(), path).toContain("did not arrive in time");
  }
});

test("audio has a longer timeout, which also ends", async () => {
  const { heard, socket } = open("/v1/audio/transcriptions", { secret: owner.secret, bytes: 1_000 });
  socket.write("{");
  await sleep(800);
  expect([heard(), socket.destroyed]).toEqual(["", false]);
  await until(async () => expect(socket.destroyed).toBe(true), 3_000);
  expect(heard()).toMatch(/^HTTP\/1\.1 408 /);
});

test("a form that is read while it arrives has the longer timeout, too", async () => {
  const form = { secret: owner.secret, bytes: 1_000, type: "multipart/form-data; boundary=b" };
  const { heard, socket } = open("/v1/files", form);
  socket.write("--b\r\n");
  await until(async () => expect(socket.destroyed).toBe(true), 3_000);
  expect(heard()).toMatch(/^HTTP\/1\.1 408 /);
  expect(heard()).toContain("The body did not arrive in time.");
});

test.each([
  ["without a key", undefined, "401"],
  ["with a wrong key", "sk-wrong", "401"],
])("a large body %s is refused before it is read", async (_what, secret, status) => {
  const { heard, socket } = open("/v1/audio/transcriptions", { secret, bytes: 30_000_000 });
  await until(async () => expect(heard()).toContain(`HTTP/1.1 ${status} `), 1_000);
  socket.destroy();
});

test("a large body with a key for something else is refused before it is read", async () => {
  const { secret } = await stack().app.managementKeys.create(owner.account, "m", ["account:read"]);
  const { heard, socket } = open("/v1/images/edits", { secret, bytes: 20_000_000 });
  await until(async () => expect(heard()).toContain("HTTP/1.1 403 "), 1_000);
  socket.destroy();
});

/** Sends the head of a request that announces this many bytes. */
function open(
  path: string,
  { secret, bytes, type = "application/json" }: { secret: string | undefined; bytes: number; type?: string },
): { readonly socket: Socket; heard(): string } {
  const { hostname, port } = new URL(stack().origin);
  const socket = connect(Number(port), hostname);
  let heard = "";
  socket.setEncoding("utf8").on("data", (text) => {
    heard += text;
  });
  socket.on("error", () => {});
  const authorization = secret === undefined ? "" : `Authorization: Bearer ${secret}\r\n`;
  socket.write(
    `POST ${path} HTTP/1.1\r\nHost: x\r\n${authorization}Content-Type: ${type}\r\nContent-Length: ${bytes}\r\n\r\n`,
  );
  return { socket, heard: () => heard };
}
