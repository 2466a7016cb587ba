import type { lookup } from "node:dns";
import { once } from "node:events";
import { createServer } from "node:net";
import { expect, test } from "vitest";
import { ProviderClient } from "../../../src/inference/providers/exchange/provider.client.ts";
import { failureOf, gatherAnswer } from "../../../src/inference/providers/exchange/provider-answer.ts";
import type { Provider } from "../../../src/inference/providers/provider.ts";
import { faultOf, guardedLookup, isPublicAddress } from "../../../src/kernel/address-guard.ts";

test.each([
  "http://127.0.0.1",
  "https://127.0.0.1",
  "https://169.254.169.254",
  "https://[::1]",
  "https://[::ffff:7f00:1]",
  "https://[::ffff:10.0.0.1]",
  "https://0x7f.1",
  "https://2130706433",
  "https://017700000001",
  "https://127.1",
  "https://0.0.0.0",
  "https://[::]",
  "https://[fe80::1]",
  "https://[fd00::1]",
  "https://[64:ff9b::7f00:1]",
  "https://[2002:7f00:1::]",
  "https://10.1.2.3",
  "https://172.16.0.1",
  "https://192.168.1.1",
  "https://100.64.0.1",
  "https://224.0.0.1",
  "https://255.255.255.255",
  "https://localhost",
  "https://LOCALHOST.",
  "https://a.localhost",
  "https://metadata",
  "https://metadata.google.internal",
  "https://printer.local",
  "file:///etc/passwd",
  "gopher://example.com",
  "ftp://example.com",
  "https://user:pass@example.com",
  "https://example.com:22",
  "https://example.com:25",
  "http://example.com",
  "https://example.com/?a=b",
  "https://example.com/#a",
  "",
  "nonsense",
])("a provider at %j is never called", (url) => {
  expect(faultOf(url, { allowsPrivate: false })).toBeTypeOf("string");
});

test.each([
  "https://example.com",
  "https://example.com:8443/base",
  "https://1.1.1.1",
  "https://[2606:4700::1111]",
])("a provider at %s is called", (url) => {
  expect(faultOf(url, { allowsPrivate: false })).toBeUndefined();
});

test("a query is allowed where the caller says so, and a fragment never", () => {
  const given = { allowsPrivate: false, allowsQuery: true };
  expect(faultOf("https://example.com/?a=b", given)).toBeUndefined();
  for (const url of ["https://example.com/?a=b#c", "https://example.com/#"])
    expect(faultOf(url, given)).toBe("a fragment in the URL");
});

test("on a development network private addresses are called, and other URL schemes still are not", () => {
  expect(faultOf("http://127.0.0.1:3000", { allowsPrivate: true })).toBeUndefined();
  for (const url of ["file:///etc/passwd", "http://user:pass@127.0.0.1"])
    expect(faultOf(url, { allowsPrivate: true })).toBeTypeOf("string");
});

test("addresses are classified in any notation", () => {
  for (const address of ["8.8.8.8", "2001:4860:4860::8888", "::ffff:8.8.8.8"])
    expect(isPublicAddress(address), address).toBe(true);
  for (const address of [
    "::ffff:127.0.0.1",
    "::ffff:169.254.169.254",
    "::127.0.0.1",
    "fe80::1%eth0",
    "2001:db8::1",
    "nonsense",
  ])
    expect(isPublicAddress(address), address).toBe(false);
});

/** A resolver that returns these answers in turn. */
function resolverOf(...answers: readonly (readonly string[])[]): {
  resolve: typeof lookup;
  asked: () => number;
} {
  let asked = 0;
  const resolve = (_: string, __: object, done: (error: null, addresses: object[]) => void) => {
    const answer = answers[Math.min(asked++, answers.length - 1)] ?? [];
    done(
      null,
      answer.map((address) => ({ address, family: address.includes(":") ? 6 : 4 })),
    );
  };
  return { resolve: resolve as unknown as typeof lookup, asked: () => asked };
}

test("a name is refused when one of its addresses is not public, and the connection uses the checked address", async () => {
  const look = (answers: readonly string[]) =>
    new Promise<unknown>((done) => {
      guardedLookup(resolverOf(answers).resolve)("a.example.com", { all: true }, (error, addresses) =>
        done(error ? error.name : addresses),
      );
    });
  expect(await look(["1.1.1.1", "10.0.0.1"])).toBe("ForbiddenAddress");
  expect(await look(["::ffff:127.0.0.1"])).toBe("ForbiddenAddress");
  expect(await look([])).toBe("ForbiddenAddress");
  expect(await look(["1.1.1.1"])).toEqual([{ address: "1.1.1.1", family: 4 }]);
});

test("a name is resolved and checked again for every connection, and a private address is never connected to", async () => {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  let connections = 0;
  server.on("connection", () => connections++);
  const { port } = server.address() as { port: number };
  const { resolve, asked } = resolverOf(["127.0.0.1"]);
  const client = clientOf(resolve);
  for (let n = 0; n < 3; n++)
    expect(await ask(client, `https://rebinding.example.com:${port}`)).toBe("forbidden_address");
  expect(asked()).toBe(3);
  expect(connections).toBe(0);
  await client.close();
  server.close();
});

test("a name that alternates between a public and a private address connects to the checked one, never to the private one", async () => {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  let connections = 0;
  server.on("connection", () => connections++);
  const { port } = server.address() as { port: number };
  // Public (2000::/3), but in a range that is not assigned: this test reaches no host.
  const { resolve, asked } = resolverOf(
    ...Array.from({ length: 6 }, (_, n) => [n % 2 ? "127.0.0.1" : "2000::1"]),
  );
  const client = clientOf(resolve, 100);
  const outcomes: string[] = [];
  for (let n = 0; n < 6; n++) outcomes.push(await ask(client, `https://rebinding.example.com:${port}`));
  const pair = ["unreachable", "forbidden_address"];
  expect(outcomes).toEqual([...pair, ...pair, ...pair]);
  // One lookup per connection: nothing resolves the name again after the check.
  expect([asked(), connections]).toEqual([6, 0]);
  await client.close();
  server.close();
});

test.each(["https://127.0.0.1:9443", "https://[::1]:9443", "https://0x7f.1:9443"])(
  "an address in the URL itself, %s, is checked at the connection too",
  async (url) => {
    const client = clientOf(resolverOf([]).resolve);
    expect(await ask(client, url)).toBe("forbidden_address");
    await client.close();
  },
);

function clientOf(resolve: typeof lookup, connectMs = 2_000): ProviderClient {
  return new ProviderClient({
    credentials: { secretFor: async () => "", forget() {} },
    deadlines: { connectMs, firstByteMs: 2_000, silenceMs: 2_000, totalMs: 5_000 },
    connections: 2,
    allowsPrivate: false,
    resolve,
  });
}

async function ask(client: ProviderClient, url: string): Promise<string> {
  const provider = { address: "0x01", source: "chain", url } as unknown as Provider;
  try {
    const answer = await gatherAnswer(
      (listener) => client.post(provider, "/chat/completions", Buffer.from("{}"), listener),
      { signal: new AbortController().signal },
    );
    return String(answer.status);
  } catch (error) {
    const failure = failureOf(error);
    return "kind" in failure ? String(failure.kind) : failure.code;
  }
}
