import { readFileSync } from "node:fs";
import { createServer as createHttpsServer } from "node:https";
import { type AddressInfo, createServer, type Server } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { ReceiverClient } from "../../src/webhooks/receiver.client.ts";
import type { DeliveryFailure } from "../../src/webhooks/webhook.ts";
import { makeCertificates } from "../support/servers/certificates.ts";
import { newFolder } from "../support/servers/process.ts";

const DELIVERY = { headers: {}, body: "{}" };

const served = async (server: Server, scheme = "http"): Promise<string> =>
  `${scheme}://127.0.0.1:${await listening(server)}/`;
const FAULTS: readonly (readonly [failure: DeliveryFailure, url: () => Promise<string>])[] = [
  ["name_not_resolved", async () => "http://receiver.invalid/"],
  ["unreachable", closedPort],
  ["unreachable", () => served(createServer((socket) => socket.destroy()))],
  ["tls_failed", () => served(untrusted(), "https")],
  ["tls_failed", () => served(speaking("hello\r\n"), "https")],
  ["malformed_answer", () => served(speaking("220 mail.example ESMTP\r\n"))],
  ["malformed_answer", () => served(speaking(longHeaders()))],
];

test.each(FAULTS)("an attempt fails as %s", async (failure, url) => {
  const connection = new ReceiverClient({ allowsPrivate: true, timeoutMs: 60_000 }).open(await url());
  onTestFinished(() => connection.close());
  expect(await connection.post(DELIVERY)).toMatchObject({ failure, status: null });
});

async function listening(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  return (server.address() as AddressInfo).port;
}

async function closedPort(): Promise<string> {
  const server = createServer();
  const port = await listening(server);
  await new Promise((resolve) => server.close(resolve));
  return `http://127.0.0.1:${port}/`;
}

function speaking(text: string): Server {
  return createServer((socket) => {
    socket.on("error", () => {});
    socket.once("data", () => socket.end(text));
  });
}

function longHeaders(): string {
  return `HTTP/1.1 200 OK\r\nx-long: ${"x".repeat(20_000)}\r\n\r\n`;
}

/** A server with a certificate that nobody trusts. */
function untrusted(): Server {
  const { server } = makeCertificates(newFolder(), "receiver.example");
  return createHttpsServer({ cert: readFileSync(server.cert), key: readFileSync(server.key) });
}
