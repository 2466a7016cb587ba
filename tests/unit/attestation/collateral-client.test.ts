import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Collateral } from "@phala/dcap-qvl";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { readReport } from "../../../src/inference/attestation/attestation-report.ts";
import { CollateralClient } from "../../../src/inference/attestation/collateral.client.ts";
import { platformOf, verifyQuote } from "../../../src/inference/attestation/quote-verification.ts";

const fixture = (name: string) =>
  readFileSync(new URL(`../../fixtures/attestation/${name}.json`, import.meta.url));
const COLLATERAL = JSON.parse(fixture("collateral").toString()) as Record<keyof Collateral, string>;
const NOW = new Date("2026-02-20T12:00:00Z");
const HOUR_MS = 3_600_000;
const QUOTE = readReport(fixture("broker"))?.quote ?? Buffer.alloc(0);
const PLATFORM = platformOf(QUOTE);

type Answer = (response: ServerResponse) => void;

/** Responses by the last part of the path, as Intel's service gives them. */
const INTEL: Readonly<Record<string, Answer>> = {
  pckcrl: sends(Buffer.from(COLLATERAL.pck_crl, "hex"), {
    "sgx-pck-crl-issuer-chain": COLLATERAL.pck_crl_issuer_chain,
  }),
  rootcacrl: sends(Buffer.from(COLLATERAL.root_ca_crl, "hex")),
  tcb: sends(`{"tcbInfo":${COLLATERAL.tcb_info},"signature":"${COLLATERAL.tcb_info_signature}"}`, {
    "tcb-info-issuer-chain": COLLATERAL.tcb_info_issuer_chain,
  }),
  identity: sends(
    `{"enclaveIdentity":${COLLATERAL.qe_identity},"signature":"${COLLATERAL.qe_identity_signature}"}`,
    { "sgx-enclave-identity-issuer-chain": COLLATERAL.qe_identity_issuer_chain },
  ),
};

let server: Server;
let answers: Record<string, Answer>;
let asked: string[];
let client: CollateralClient;
const clock = { now: () => NOW, monotonicMs: () => clock.nowMs, nowMs: 0 };

beforeEach(async () => {
  answers = { ...INTEL };
  asked = [];
  clock.nowMs = 0;
  server = createServer((request, response) => {
    asked.push(request.url ?? "");
    const path = request.url?.split("?")[0] ?? "";
    const answer = answers[path.split("/").at(-1) ?? ""];
    if (answer) answer(response);
    else response.writeHead(404).end();
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  client = new CollateralClient({ url: `${originOf(server)}/`, clock });
});
afterEach(async () => {
  await client.close();
  server.closeAllConnections();
  server.close();
  await once(server, "close");
});

function originOf(listening: Server): string {
  return `http://127.0.0.1:${(listening.address() as AddressInfo).port}`;
}

function sends(body: Buffer | string, chains: Readonly<Record<string, string>> = {}): Answer {
  const headers = Object.fromEntries(
    Object.entries(chains).map(([name, chain]) => [name, encodeURIComponent(chain)]),
  );
  return (response) => void response.writeHead(200, headers).end(body);
}

describe("collateral over HTTP", () => {
  test("is requested for the platform of the quote, and verifies the quote", async () => {
    const collateral = await client.collateralFor(PLATFORM);
    expect(verifyQuote(QUOTE, collateral, NOW)).toMatchObject({ status: "UpToDate" });
    expect(asked.toSorted()).toEqual([
      "/sgx/certification/v4/pckcrl?ca=platform&encoding=der",
      "/sgx/certification/v4/rootcacrl",
      "/tdx/certification/v4/qe/identity",
      `/tdx/certification/v4/tcb?fmspc=${PLATFORM.fmspc}`,
    ]);
  });

  test("is read from caches too, which return the root list as hexadecimal text", async () => {
    answers.rootcacrl = sends(COLLATERAL.root_ca_crl);
    expect((await client.collateralFor(PLATFORM)).root_ca_crl).toBe(COLLATERAL.root_ca_crl);
  });

  test("is kept for six hours, and a failure is not", async () => {
    answers.tcb = (response) => void response.writeHead(500).end();
    await expect(client.collateralFor(PLATFORM)).rejects.toThrow("status 500");
    answers.tcb = INTEL.tcb as Answer;
    const first = await client.collateralFor(PLATFORM);
    const count = asked.length;
    clock.nowMs = 6 * HOUR_MS - 1;
    expect(await client.collateralFor(PLATFORM)).toBe(first);
    expect(asked).toHaveLength(count);
    clock.nowMs = 6 * HOUR_MS;
    expect(await client.collateralFor(PLATFORM)).not.toBe(first);
  });

  test("is used on while it cannot be renewed, and is then requested every five minutes", async () => {
    const first = await client.collateralFor(PLATFORM);
    const working = answers.tcb as Answer;
    answers.tcb = (response) => void response.writeHead(503).end();
    clock.nowMs = 6 * HOUR_MS;
    expect(await client.collateralFor(PLATFORM)).toBe(first);
    const count = asked.length;
    expect(await client.collateralFor(PLATFORM)).toBe(first);
    expect(asked).toHaveLength(count);
    await expect(client.collateralFor({ ...PLATFORM, fmspc: "000000000000" })).rejects.toThrow("status 503");
    answers.tcb = working;
    clock.nowMs += 300_000;
    expect(await client.collateralFor(PLATFORM)).not.toBe(first);
  });

  test("is read again once it is forgotten, and that of another platform is not", async () => {
    const first = await client.collateralFor(PLATFORM);
    client.forget({ ...PLATFORM, fmspc: "000000000000" });
    expect(await client.collateralFor(PLATFORM)).toBe(first);
    client.forget(PLATFORM);
    expect(await client.collateralFor(PLATFORM)).not.toBe(first);
  });

  test.each<[string, string, Answer, RegExp]>([
    ["bad JSON", "tcb", sends("<html>", { "tcb-info-issuer-chain": "x" }), /JSON/],
    [
      "JSON of another shape",
      "identity",
      sends("[]", { "sgx-enclave-identity-issuer-chain": "x" }),
      /expected/,
    ],
    ["a missing document", "pckcrl", (response) => void response.writeHead(404).end(), /status 404 for sgx/],
    ["no issuer chain", "tcb", sends('{"tcbInfo":{},"signature":""}'), /header tcb-info-issuer-chain/],
    ["an endless document", "rootcacrl", sends(Buffer.alloc(1_048_577)), /too long/],
    ["a closed connection", "identity", (response) => void response.destroy(), /socket|closed/],
  ])("is refused with %s", async (_, name, answer, reason) => {
    answers[name] = answer;
    await expect(client.collateralFor(PLATFORM)).rejects.toThrow(reason);
  });

  test("is not followed to another address", async () => {
    answers.rootcacrl = (response) =>
      void response.writeHead(302, { location: `${originOf(server)}/elsewhere` }).end();
    await expect(client.collateralFor(PLATFORM)).rejects.toThrow("status 302");
    expect(asked).not.toContain("/elsewhere");
  });

  test("is given up if it does not arrive in time", async () => {
    const hasty = new CollateralClient({ url: originOf(server), clock, timeoutMs: 50 });
    answers.identity = (response) => void response.writeHead(200).write("{");
    await expect(hasty.collateralFor(PLATFORM)).rejects.toThrow(/timeout|aborted/i);
    await hasty.close();
  });
});

describe("collateral that arrives but may not be relied on", () => {
  test.each<[string, string, Answer, RegExp]>([
    [
      "the chain of another issuer",
      "pckcrl",
      sends(Buffer.from(COLLATERAL.pck_crl, "hex"), {
        "sgx-pck-crl-issuer-chain": COLLATERAL.tcb_info_issuer_chain,
      }),
      /platform revocation list is of another authority than the quote's certificate/,
    ],
    ["an empty list", "rootcacrl", sends(""), /root revocation list is malformed/],
  ])("does not verify a quote: %s", async (_, name, answer, reason) => {
    answers[name] = answer;
    const collateral = await client.collateralFor(PLATFORM);
    expect(() => verifyQuote(QUOTE, collateral, NOW)).toThrow(reason);
  });

  test("does not verify a quote once it has expired", async () => {
    const collateral = await client.collateralFor(PLATFORM);
    expect(() => verifyQuote(QUOTE, collateral, new Date("2026-11-20T00:00:00Z"))).toThrow(/not current/);
  });
});
