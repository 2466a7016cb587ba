// @module-tag large
import { execFile } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Check, Verification } from "../../packages/verify/src/verify.ts";
import { encodeVerifierKey } from "../../src/receipts/format/checkpoint.ts";
import type { ReceiptBundle } from "../../src/receipts/format/proof-bundle.ts";
import { openBrowser } from "../support/clients/browser.ts";
import { type Bodies, makeBundle, newRouterKey, sha256 } from "../support/receipts/bundle.ts";
import type { OnEnd } from "../support/servers/database.ts";

const run = promisify(execFile);
const ROUTER = newRouterKey();
const OTHER = newRouterKey();
const KEY = encodeVerifierKey(ROUTER.key);
const BODIES: Bodies = {
  received: Buffer.from('{"model":"m","messages":[]}'),
  forwarded: Buffer.from('{"model":"m","messages":[],"max_tokens":4}'),
  answered: Buffer.from('{"id":"1","choices":[]}'),
  returned: Buffer.from('{"id":"1","choices":[],"x_0g_trace":{}}'),
};
const QUOTE = "quote";

const ends: (() => Promise<void>)[] = [];
const onEnd: OnEnd = (end) => void ends.unshift(end);
const folder = mkdtempSync(join(tmpdir(), "zerograph-verify-"));
const dist = join(folder, "dist");

beforeAll(async () => {
  const vite = resolve("node_modules/vite/bin/vite.js");
  for (const mode of ["production", "node"])
    await run(process.execPath, [
      ...[vite, "build", "-c", "packages/verify/vite.config.ts"],
      ...["--outDir", dist, "--mode", mode, "--logLevel", "warn"],
    ]);
  writeFileSync(join(dist, "package.json"), '{"type":"module"}');
});
afterAll(async () => {
  for (const end of ends) await end();
  rmSync(folder, { recursive: true, force: true });
});

type Given = {
  readonly bundle: ReceiptBundle | string;
  readonly request?: Buffer;
  readonly answer?: Buffer;
  readonly key?: string;
};

/** Runs the command on files in an empty folder; it has no other argument than their names. */
async function command({ bundle, request, answer, key }: Given) {
  const own = mkdtempSync(join(folder, "files-"));
  const file = (name: string, bytes: Buffer | string) => {
    writeFileSync(join(own, name), bytes);
    return name;
  };
  const text = typeof bundle === "string" ? bundle : JSON.stringify(bundle);
  const args = [
    file("bundle.json", text),
    ...(request ? ["--request", file("request", request)] : []),
    ...(answer ? ["--answer", file("answer", answer)] : []),
    ...(key === undefined ? [] : ["--key", key]),
    "--json",
  ];
  return start(args, own);
}

async function start(args: readonly string[], cwd = folder) {
  try {
    const { stdout } = await run(process.execPath, [join(dist, "cli.js"), ...args], { cwd });
    return { status: 0, stdout, stderr: "" };
  } catch (error) {
    const { code, stdout, stderr } = error as { code: number; stdout: string; stderr: string };
    return { status: code, stdout, stderr };
  }
}

const named = (checks: readonly Check[], result: Check["result"]) =>
  checks.filter((check) => check.result === result).map(({ id }) => id);

const flipped = (body: Buffer) => {
  const copy = Buffer.from(body);
  copy.writeUInt8(copy.readUInt8(5) ^ 1, 5);
  return copy;
};

type Change = (bundle: ReceiptBundle) => Promise<Given> | Given;

/** What is changed, and the checks that fail then. */
const CHANGES: readonly (readonly [string, readonly string[], Change])[] = [
  ["nothing", [], (bundle) => given(bundle)],
  [
    "the charge",
    ["signature", "inclusion"],
    (bundle) => given({ ...bundle, receipt: { ...bundle.receipt, charge: "1" } }),
  ],
  [
    "a byte of the request",
    ["request_body"],
    (bundle) => ({ ...given(bundle), request: flipped(BODIES.received) }),
  ],
  [
    "a byte of the answer",
    ["answer_body"],
    (bundle) => ({ ...given(bundle), answer: flipped(BODIES.returned) }),
  ],
  [
    "the checkpoint, for one of another time",
    ["inclusion"],
    async (bundle) => {
      const { log } = await makeBundle(BODIES, ROUTER, { size: 9 });
      return given({ ...bundle, log: { ...bundle.log, checkpoint: log.checkpoint } });
    },
  ],
  [
    "the checkpoint, for one that another key signed",
    ["checkpoint"],
    async (bundle) => {
      const { log } = await makeBundle(BODIES, OTHER);
      return given({ ...bundle, log: { ...bundle.log, checkpoint: log.checkpoint } });
    },
  ],
  ["the key that is trusted", ["key"], (bundle) => ({ ...given(bundle), key: encodeVerifierKey(OTHER.key) })],
  [
    "the key in the bundle",
    ["key", "signature", "checkpoint"],
    (bundle) => given({ ...bundle, public_key: encodeVerifierKey(OTHER.key) }),
  ],
  ["the id of the key", ["key"], (bundle) => given({ ...bundle, key_id: "deadbeef" })],
  [
    "the address of the provider's signer",
    ["provider_signature"],
    ({ provider_signature: signed, ...bundle }) =>
      given({
        ...bundle,
        provider_signature: signed && { ...signed, signing_address: `0x${"ab".repeat(20)}` },
      }),
  ],
  [
    "the proof, shortened",
    ["inclusion"],
    ({ log, ...bundle }) =>
      given({ ...bundle, log: { ...log, inclusion_proof: log.inclusion_proof.slice(0, -1) } }),
  ],
  [
    "the text of the provider",
    ["provider_signature", "provider_answer"],
    ({ provider_signature: signed, ...bundle }) =>
      given({
        ...bundle,
        provider_signature: signed && {
          ...signed,
          text: signed.text.replace(/.$/, (end) => (end === "0" ? "1" : "0")),
        },
      }),
  ],
  [
    "the answer that the provider signed",
    ["provider_answer"],
    () => signedText(`${sha256(BODIES.forwarded).toString("hex")}:${sha256("another").toString("hex")}`),
  ],
  [
    "a part, for another type",
    ["inclusion"],
    ({ log, ...bundle }) => given({ ...bundle, log: { ...log, inclusion_proof: 1 as unknown as string[] } }),
  ],
];

function given(bundle: ReceiptBundle): Given {
  return { bundle, request: BODIES.received, answer: BODIES.returned, key: KEY };
}

async function signedText(text: string): Promise<Given> {
  return given(await makeBundle(BODIES, ROUTER, { text }));
}

describe("the command", () => {
  test.each(CHANGES)("on files alone: with %s changed, %j fail", async (_, failing, change) => {
    const { status, stdout } = await command(await change(await makeBundle(BODIES, ROUTER)));
    const { ok, checks } = JSON.parse(stdout) as Verification;
    expect(named(checks, "failed")).toEqual(failing);
    expect([status, ok]).toEqual(failing.length === 0 ? [0, true] : [1, false]);
  });

  test("does not check what it is not given, and says so", async () => {
    const bundle = { ...(await makeBundle(BODIES, ROUTER)), provider_signature: null };
    const { status, stdout } = await command({ bundle });
    const { checks } = JSON.parse(stdout) as Verification;
    expect(status).toBe(0);
    expect(named(checks, "passed")).toEqual(["signature", "checkpoint", "inclusion"]);
    expect(checks.find(({ id }) => id === "key")?.reason).toContain("anyone could have made it");
    expect(checks.find(({ id }) => id === "request_body")?.reason).toContain("was not given");
    expect(checks.find(({ id }) => id === "provider_signature")?.reason).toContain(
      "does not have the signature",
    );
  });

  test("refuses a bundle with a repeated member, which another program might read differently", async () => {
    const bundle = await makeBundle(BODIES, ROUTER);
    const text = JSON.stringify(bundle);
    const forged = JSON.stringify({ ...bundle.receipt, charge: "0" });
    for (const changed of [
      text.replace('"charge":', '"charge":"0","charge":'),
      text.replace('"charge":', '"ch\\u0061rge":"0","charge":'),
      text.replace("{", `{"receipt":${forged},`),
      text.replace('"signature":', '"signature":"00","signature":'),
    ]) {
      expect(JSON.parse(changed)).toEqual(JSON.parse(text));
      const { status, stderr } = await command({ bundle: changed });
      expect([status, JSON.parse(stderr)]).toEqual([
        2,
        { error: { code: "invalid_bundle", message: "The bundle has a repeated member." } },
      ]);
    }
  });

  test("does not count a request that the provider changed as a failure", async () => {
    const text = `${sha256("changed").toString("hex")}:${sha256(BODIES.answered).toString("hex")}`;
    const { status, stdout } = await command(await signedText(text));
    const { checks } = JSON.parse(stdout) as Verification;
    expect([status, named(checks, "not_checked")]).toEqual([0, ["provider_request", QUOTE]]);
  });

  test("compares signed images with the images in the answer", async () => {
    // The second is larger than what a function takes as arguments.
    const images = ["one", "two".repeat(500_000)];
    const hashes = images.map((image) => sha256(image).toString("hex")).join(",");
    const data = images.map((image) => ({ b64_json: Buffer.from(image).toString("base64") }));
    const returned = Buffer.from(JSON.stringify({ data }));
    const text = `${sha256(BODIES.forwarded).toString("hex")}:${hashes}`;
    const bundle = await makeBundle({ ...BODIES, returned }, ROUTER, { text });
    const { checks } = JSON.parse((await command({ bundle, answer: returned })).stdout) as Verification;
    expect(checks.find(({ id }) => id === "provider_answer")?.result).toBe("passed");
  });

  test.each([
    ["2026-02-20T12:00:00Z", "passed", /UpToDate/],
    ["2026-11-20T12:00:00Z", "failed", /does not verify/],
  ])("verifies a real quote with its collateral, at %s: %s", async (checkedAt, result, reason) => {
    const fixture = (name: string) =>
      JSON.parse(readFileSync(resolve(`tests/fixtures/attestation/${name}.json`), "utf8")) as unknown;
    const evidence = { signer: "0xdc1a4da6bdcd90c20d7ff53a6cdc11fbf0e2303c" };
    const bundle = {
      ...(await makeBundle(BODIES, ROUTER, { evidence })),
      provider_signature: null,
      attestation: { report: fixture("broker"), collateral: fixture("collateral"), checked_at: checkedAt },
    };
    const { checks } = JSON.parse((await command({ bundle })).stdout) as Verification;
    const quote = checks.find(({ id }) => id === QUOTE);
    expect(quote).toMatchObject({ result, reason: expect.stringMatching(reason) });
  });

  test.each([
    ["no JSON", "<html>", /not JSON/],
    ["a list", "[]", /not a JSON object/],
    ["half a bundle", '{"receipt":{}}', /has no log/],
    ["another version", '{"receipt":{"version":"v9"},"log":{}}', /version v9/],
  ])("refuses %s with status 2", async (_, bundle, reason) => {
    const { status, stderr } = await command({ bundle });
    expect(status).toBe(2);
    expect(stderr).toMatch(reason);
  });

  test("prints its checks for people, and its usage without a file", async () => {
    writeFileSync(join(folder, "bundle.json"), JSON.stringify(await makeBundle(BODIES, ROUTER)));
    const { stdout } = await start(["bundle.json", "--key", KEY]);
    expect(stdout).toMatch(/passed +The receipt in the log\n +The receipt is number 4 of the log/);
    expect(stdout).toContain("No check failed.");
    expect(await start([])).toMatchObject({ status: 2, stderr: expect.stringContaining("Usage:") });
    expect(await start(["missing.json"])).toMatchObject({ status: 2 });
  });

  test("is published as two small files without dependencies", async () => {
    const { stdout } = await run("npm", ["pack", "--dry-run", "--json"], { cwd: resolve("packages/verify") });
    const [packed] = JSON.parse(stdout) as [{ readonly files: readonly { readonly path: string }[] }];
    expect(packed.files.map(({ path }) => path)).toEqual(
      expect.arrayContaining(["README.md", "package.json"]),
    );
    const sizes = ["verify.js", "cli.js"].map((name) => readFileSync(join(dist, name)).length);
    expect(sizes[0]).toBeLessThan(160_000);
    expect(sizes[1]).toBeLessThan(1_200_000);
  });
});

test("the module gives the same results in a browser without a network", async (context) => {
  const browser = await openBrowser(onEnd);
  if (!browser) return context.skip();
  const server = createServer((request, response) => {
    const isModule = request.url === "/verify.js";
    response.writeHead(200, { "content-type": isModule ? "text/javascript" : "text/html" });
    response.end(isModule ? readFileSync(join(dist, "verify.js")) : "<!doctype html><title>verify</title>");
  }).listen(0, "127.0.0.1");
  onEnd(async () => void server.close());
  await once(server, "listening");
  const address = server.address();
  const origin = `http://127.0.0.1:${typeof address === "object" ? address?.port : ""}`;
  const page = await browser.newPage();
  const sent: string[] = [];
  await page.goto(origin);
  await page.evaluate(`import("/verify.js").then((module) => { globalThis.verify = module.verify; })`);
  await page.context().setOffline(true);
  page.on("request", (request) => void sent.push(request.url()));
  const bundle = await makeBundle(BODIES, ROUTER);
  for (const [name, failing, change] of CHANGES) {
    const files = await change(bundle);
    const text = typeof files.bundle === "string" ? files.bundle : JSON.stringify(files.bundle);
    const bytes = (body: Buffer | undefined) => JSON.stringify(body ? [...body] : []);
    const { ok, checks } = await page.evaluate<Verification>(`globalThis.verify({
      bundle: ${JSON.stringify(text)}, key: ${JSON.stringify(files.key)},
      request: Uint8Array.from(${bytes(files.request)}), answer: Uint8Array.from(${bytes(files.answer)}),
    })`);
    expect([name, named(checks, "failed"), ok]).toEqual([name, failing, failing.length === 0]);
  }
  expect(sent).toEqual([]);
});
