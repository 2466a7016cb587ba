import { createHash, X509Certificate } from "node:crypto";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer as createPlainServer } from "node:http";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { getCACertificates, setDefaultCACertificates } from "node:tls";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { ProviderClient } from "../../../src/inference/providers/exchange/provider.client.ts";
import { gatherAnswer } from "../../../src/inference/providers/exchange/provider-answer.ts";
import type { Provider } from "../../../src/inference/providers/provider.ts";
import { makeCertificates } from "../../support/servers/certificates.ts";
import { until } from "../../support/until.ts";

const usual = getCACertificates("default");
let folder: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "zerograph-tls-"));
});
afterAll(() => {
  setDefaultCACertificates(usual);
  rmSync(folder, { recursive: true, force: true });
});

/** A TLS server on this machine that this process trusts, and the hash of its key. */
async function startTls() {
  const { authority, server: files } = makeCertificates(folder, "localhost");
  const cert = readFileSync(files.cert);
  setDefaultCACertificates([...usual, readFileSync(authority, "utf8")]);
  const server = createServer({ cert, key: readFileSync(files.key) }, (_, response) => response.end("{}"));
  await once(server.listen(0, "localhost"), "listening");
  const { port } = server.address() as AddressInfo;
  onTestFinished(() => void server.close());
  const key = new X509Certificate(cert).publicKey.export({ type: "spki", format: "der" });
  return {
    server,
    url: `https://localhost:${port}`,
    keyHash: createHash("sha256").update(key).digest("hex"),
  };
}

function newClient(): ProviderClient {
  const client = new ProviderClient({
    credentials: { secretFor: async () => "", forget() {} },
    deadlines: { connectMs: 60_000, firstByteMs: 60_000, silenceMs: 60_000, totalMs: 60_000 },
    connections: 2,
    allowsPrivate: true,
  });
  onTestFinished(() => client.close());
  return client;
}

const providerAt = (url: string) => ({ address: "0x01", source: "chain", url }) as unknown as Provider;

async function ask(client: ProviderClient, url: string): Promise<number> {
  const answer = await gatherAnswer(
    (listener) => client.post(providerAt(url), "/chat/completions", Buffer.from("{}"), listener),
    { signal: new AbortController().signal },
  );
  return answer.status;
}

test("the key of a provider's open connections is known, of later ones too, and forgotten when they close", async () => {
  const { server, url, keyHash } = await startTls();
  const client = newClient();
  expect(client.tlsKeysOf(providerAt(url))).toEqual([]);
  for (let connection = 0; connection < 3; connection++) {
    expect(await ask(client, url)).toBe(200);
    expect(client.tlsKeysOf(providerAt(url)), `connection ${connection}`).toEqual([keyHash]);
    server.closeAllConnections();
    await until(() => client.tlsKeysOf(providerAt(url)).length === 0);
  }
});

test("connections without TLS have no key", async () => {
  const server = createPlainServer((_, response) => response.end("{}"));
  await once(server.listen(0, "127.0.0.1"), "listening");
  onTestFinished(() => void server.close());
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const client = newClient();
  expect(await ask(client, url)).toBe(200);
  expect(client.tlsKeysOf(providerAt(url))).toEqual([]);
});
