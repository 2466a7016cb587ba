import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import type { Collateral } from "@phala/dcap-qvl";
import { describe, expect, test } from "vitest";
import {
  type AllowedMeasurement,
  appraise,
  type Expected,
} from "../../../src/inference/attestation/appraisal.ts";
import { type AttestationReport, readReport } from "../../../src/inference/attestation/attestation-report.ts";
import { composeHashOf, replayRuntimeLog } from "../../../src/inference/attestation/event-log.ts";
import { verifyQuote } from "../../../src/inference/attestation/quote-verification.ts";
import { readReportData, type StatedKeys } from "../../../src/inference/attestation/report-data.ts";
import type { Hex } from "../../../src/kernel/text/hex.ts";

/**
 * Real reports of a broker and of a model enclave of the network, as its SDK publishes them, and Intel's collateral for
 * their platform at that time.
 */
const BROKER = reportOf("broker");
const ENCLAVE = reportOf("model");
const COLLATERAL = JSON.parse(fixture("collateral").toString()) as Omit<
  Collateral,
  "root_ca_crl" | "pck_crl"
> & {
  readonly root_ca_crl: string;
  readonly pck_crl: string;
};
const NOW = new Date("2026-02-20T12:00:00Z");
const BROKER_SIGNER = "0xdc1a4da6bdcd90c20d7ff53a6cdc11fbf0e2303c";
const ENCLAVE_SIGNER = "0x8a4d4984cf370210dfeefc773faf9bb0ede97cc0";
const NONCE = "034b9c390f073a9c8f8a1b50e537342fff3952bf2f32f145174e8d87588ed2da";

function fixture(name: string): Buffer {
  return readFileSync(new URL(`../../fixtures/attestation/${name}.json`, import.meta.url));
}

function reportOf(name: string): AttestationReport {
  const report = readReport(fixture(name));
  if (!report) throw new Error(`the fixture ${name} is malformed`);
  return report;
}

const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString("hex");

/** What the broker's report measures. */
const MEASURED: AllowedMeasurement = (() => {
  const { report } = verifyQuote(BROKER.quote, COLLATERAL, NOW);
  const composeHash = composeHashOf(BROKER.events) ?? "";
  return { mrtd: hex(report.mrTd), rtmr1: hex(report.rtMr1), rtmr2: hex(report.rtMr2), composeHash };
})();

function appraised(report: AttestationReport, expected: Partial<Expected> = {}) {
  return appraise(report, verifyQuote(report.quote, COLLATERAL, NOW), {
    signer: BROKER_SIGNER,
    nonce: NONCE,
    tlsKeys: [],
    statuses: ["UpToDate"],
    allowed: [MEASURED],
    now: NOW,
    ...expected,
  });
}

describe("a real report of a broker", () => {
  test("passes every check at its time, with its software on the list", () => {
    expect(appraised(BROKER)).toEqual({
      isPassed: true,
      quote: "UpToDate",
      advisories: [],
      signerBound: true,
      isFresh: undefined,
      measurement: "allowed",
      composeHash: MEASURED.composeHash,
      gpu: "absent",
      collateralIssuedAt: new Date("2026-02-18T10:58:51Z"),
      checkedAt: NOW,
      failures: [],
    });
  });

  test.each<[string, Partial<Expected>, object]>([
    ["another signer", { signer: ENCLAVE_SIGNER }, { signerBound: false }],
    ["no list", { allowed: [] }, { measurement: "no_list" }],
    ["other firmware", { allowed: [{ ...MEASURED, mrtd: "00" }] }, { measurement: "not_listed" }],
    ["another kernel", { allowed: [{ ...MEASURED, rtmr1: "00" }] }, { measurement: "not_listed" }],
    ["another image", { allowed: [{ ...MEASURED, rtmr2: "00" }] }, { measurement: "not_listed" }],
    ["other software", { allowed: [{ ...MEASURED, composeHash: "00" }] }, { measurement: "not_listed" }],
  ])("does not pass with %s", (_, expected, found) => {
    const result = appraised(BROKER, expected);
    expect(result).toMatchObject({ isPassed: false, ...found });
    expect(result.failures).toHaveLength(1);
  });

  test.each<[string, (report: AttestationReport) => AttestationReport]>([
    ["without an event", (report) => ({ ...report, events: report.events.slice(0, -1) })],
    ["without any", (report) => ({ ...report, events: [] })],
    ["with another composition", (report) => ({ ...report, events: report.events.map(otherComposition) })],
    ["in another order", (report) => ({ ...report, events: report.events.toReversed() })],
  ])("does not pass with an event log %s", (_, change) => {
    expect(appraised(change(BROKER))).toMatchObject({
      isPassed: false,
      measurement: "unproven",
      composeHash: undefined,
      failures: ["The event log does not match the quote."],
    });
  });
});

describe("a real report of a model enclave", () => {
  test("has its nonce and signer, and an outdated platform that does not pass", () => {
    const result = appraised(ENCLAVE, { signer: ENCLAVE_SIGNER });
    expect(result).toMatchObject({
      isPassed: false,
      quote: "OutOfDate",
      signerBound: true,
      isFresh: true,
      gpu: "nonce_matches",
      measurement: "not_listed",
    });
    expect(result.advisories.length).toBeGreaterThan(0);
    expect(result.failures).toContain("The platform's status is OutOfDate.");
  });

  test("is not fresh for another nonce", () => {
    expect(appraised(ENCLAVE, { signer: ENCLAVE_SIGNER, nonce: "00".repeat(32) })).toMatchObject({
      isFresh: false,
      gpu: "other_nonce",
      failures: expect.arrayContaining(["The quote has another nonce than the one that was sent."]),
    });
  });
});

describe("a quote", () => {
  const verified = (change: Partial<typeof COLLATERAL>, now = NOW, quote = BROKER.quote) =>
    verifyQuote(quote, { ...COLLATERAL, ...change }, now);
  const flipped = (text: string, at = -4) =>
    text.slice(0, at) + (text.at(at) === "0" ? "1" : "0") + text.slice(at + 1);

  test.each<[string, Partial<typeof COLLATERAL>, RegExp]>([
    ["an empty root revocation list", { root_ca_crl: "" }, /root revocation list is malformed/],
    ["an empty platform revocation list", { pck_crl: "" }, /platform revocation list is malformed/],
    ["garbage", { pck_crl: "00ff00" }, /malformed/],
    ["a truncated list", { pck_crl: COLLATERAL.pck_crl.slice(0, -2) }, /malformed/],
    ["a changed list", { pck_crl: flipped(COLLATERAL.pck_crl, 400) }, /malformed|not signed/],
    [
      "the list of another issuer",
      { pck_crl: COLLATERAL.root_ca_crl },
      /platform revocation list is not signed/,
    ],
    ["an issuer outside of the chain", { pck_crl_issuer_chain: "" }, /not trusted/],
    [
      "changed platform information",
      { tcb_info: COLLATERAL.tcb_info.replace("UpToDate", "Revoked") },
      /tcb_info/,
    ],
    [
      "a changed identity of the enclave",
      { qe_identity: COLLATERAL.qe_identity.replace("TD_QE", "TD_QX") },
      /qe_identity/,
    ],
  ])("is refused with %s", (_, change, reason) => {
    expect(() => verified(change)).toThrow(reason);
  });

  test("is refused before and after the time of its collateral", () => {
    expect(() => verified({}, new Date("2026-02-01T00:00:00Z"))).toThrow();
    expect(() => verified({}, new Date("2026-03-25T00:00:00Z"))).toThrow();
  });

  test.each([100, 200, 400, 600, 700])("is refused with byte %i changed", (at) => {
    const quote = Buffer.from(BROKER.quote);
    quote.writeUInt8(quote.readUInt8(at) ^ 1, at);
    expect(() => verified({}, NOW, quote)).toThrow();
  });

  test("is refused under another root than Intel's", () => {
    expect(() => verifyQuote(BROKER.quote, COLLATERAL, NOW, Buffer.from("not a certificate"))).toThrow();
  });

  test.each([0, 4, 48, 632, 1_000])("of %i bytes is refused", (length) => {
    expect(() => verified({}, NOW, BROKER.quote.subarray(0, length))).toThrow();
  });
});

describe("a quote that names a TLS key", () => {
  const tlsKeyHash = "ef".repeat(32);
  const appraisedWith = (signer: string, tlsKeys: readonly string[]) => {
    const verified = verifyQuote(BROKER.quote, COLLATERAL, NOW);
    const named = createHash("sha256")
      .update(`${signer.slice(2)}${tlsKeyHash}`, "hex")
      .digest();
    const report = { ...verified.report, reportData: Buffer.concat([named, Buffer.from(NONCE, "hex")]) };
    return appraise(
      { ...BROKER, tlsKeyHash },
      { ...verified, report },
      { signer: BROKER_SIGNER, nonce: NONCE, tlsKeys, statuses: ["UpToDate"], allowed: [MEASURED], now: NOW },
    );
  };

  test("passes if every connection ends at that key", () => {
    expect(appraisedWith(BROKER_SIGNER, [tlsKeyHash])).toMatchObject({
      ...{ isPassed: true, signerBound: true, isFresh: true, failures: [] },
    });
  });

  test.each([
    ["one connection ends at another key", [tlsKeyHash, "ee".repeat(32)]],
    ["no connection has a key", []],
  ])("does not pass if %s", (_, tlsKeys) => {
    expect(appraisedWith(BROKER_SIGNER, tlsKeys).failures).toEqual([
      "Connections end at another TLS key than the one that the quote names.",
    ]);
  });

  test("does not pass for another signer", () => {
    expect(appraisedWith(ENCLAVE_SIGNER, [tlsKeyHash])).toMatchObject({
      isPassed: false,
      signerBound: false,
      failures: ["The report data is not the hash of the acknowledged signer and the stated TLS key."],
    });
  });
});

describe("report data", () => {
  const address = "ab".repeat(20);
  const stated = { signer: `0x${address}` as Hex, tlsKeyHash: undefined };
  const read = (text: string, given: StatedKeys = stated) =>
    readReportData(Buffer.from(text.padEnd(128, "0"), "hex"), given);

  test.each([
    ["text", Buffer.from(`0x${address.toUpperCase()}`).toString("hex"), undefined],
    ["a key, the signer and a version", `${"cd".repeat(32)}${address}00000001`, undefined],
    ["the signer and a nonce", `${address}${"00".repeat(12)}${NONCE}`, NONCE],
  ])("names the signer as %s", (_, data, nonce) => {
    expect(read(data)).toEqual({ signer: `0x${address}`, nonce, tlsKeyHash: undefined });
  });

  test("names the signer and the TLS key as their hash, with a nonce", () => {
    const tlsKeyHash = "ef".repeat(32);
    const hash = createHash("sha256").update(`${address}${tlsKeyHash}`, "hex").digest("hex");
    const data = `${hash}${NONCE}`;
    expect(read(data, { ...stated, tlsKeyHash })).toEqual({
      signer: stated.signer,
      nonce: NONCE,
      tlsKeyHash,
    });
    expect(read(data, { ...stated, tlsKeyHash: "ee".repeat(32) })).toBeUndefined();
    expect(read(data, { signer: `0x${"ac".repeat(20)}`, tlsKeyHash })).toBeUndefined();
    expect(read(data, { signer: undefined, tlsKeyHash })).toBeUndefined();
    expect(read(data)).toBeUndefined();
  });

  test.each([
    ["another version", `${"cd".repeat(32)}${address}00000002`],
    ["something after the version", `${"cd".repeat(32)}${address}0000000100000001`],
    ["something after the text", `${Buffer.from(`0x${address}`).toString("hex")}01`],
    ["hashes", `${"cd".repeat(64)}`],
    ["nothing", ""],
  ])("is unknown with %s", (_, data) => {
    expect(read(data)).toBeUndefined();
  });
});

test.each([
  "",
  "{}",
  "[]",
  '{"quote":"zz"}',
  '{"quote":"00","event_log":"x"}',
  '{"quote":"00","event_log":[1]}',
])("a malformed report is not read: %s", (body) => {
  expect(readReport(Buffer.from(body))).toBeUndefined();
});

test("a log without events leaves the register at zero", () => {
  expect(replayRuntimeLog([])?.equals(Buffer.alloc(48))).toBe(true);
});

function otherComposition(event: AttestationReport["events"][number]) {
  return event.event === "compose-hash" ? { ...event, event_payload: "00".repeat(32) } : event;
}
