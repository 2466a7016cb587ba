import type { TcbStatus } from "@phala/dcap-qvl";
import type { Hex } from "../../kernel/text/hex.ts";
import type { AttestationReport } from "./attestation-report.ts";
import { composeHashOf, replayRuntimeLog } from "./event-log.ts";
import type { VerifiedQuote } from "./quote-verification.ts";
import { type ReportData, readReportData } from "./report-data.ts";

/** The software that the operator accepts: the firmware, the kernel, and the composition that runs on them, in hex. */
export type AllowedMeasurement = {
  readonly mrtd: string;
  readonly rtmr1: string;
  readonly rtmr2: string;
  readonly composeHash: string;
};

/** Whether the measured software is on the operator's list. */
export const MEASUREMENT_RESULTS = ["allowed", "not_listed", "no_list", "unproven"] as const;
/** Whether the report has evidence of a GPU, and for which nonce. NVIDIA's signatures are not verified. */
export const GPU_RESULTS = ["absent", "nonce_matches", "other_nonce"] as const;

/** The result of appraising a provider's attestation, check by check. */
export type Attestation = {
  /** Whether every check passed. */
  readonly isPassed: boolean;
  /** Intel's judgement of the platform; undefined if the quote does not verify. */
  readonly quote: TcbStatus | undefined;
  readonly advisories: readonly string[];
  /** Whether the quote names the expected signer. */
  readonly signerBound: boolean;
  /** Whether the quote has the nonce that was sent; undefined if its layout has none. */
  readonly isFresh: boolean | undefined;
  readonly measurement: (typeof MEASUREMENT_RESULTS)[number];
  /** The hash of the composition, by an event log that the quote confirms. */
  readonly composeHash: string | undefined;
  readonly gpu: (typeof GPU_RESULTS)[number];
  readonly collateralIssuedAt: Date | undefined;
  readonly checkedAt: Date;
  /** Why it did not pass, a sentence each. */
  readonly failures: readonly string[];
};

/** What a report is compared with. */
export type Expected = {
  readonly signer: Hex;
  /** The nonce that was sent, 64 hexadecimal digits. */
  readonly nonce: string;
  /** The hashes of the TLS keys at which the present connections to the provider end. */
  readonly tlsKeys: readonly string[];
  /** The accepted judgements of the platform. */
  readonly statuses: readonly TcbStatus[];
  readonly allowed: readonly AllowedMeasurement[];
  readonly now: Date;
};

/** An attestation that could not be obtained. */
export function noAttestation(failure: string, checkedAt: Date): Attestation {
  return {
    isPassed: false,
    quote: undefined,
    advisories: [],
    signerBound: false,
    isFresh: undefined,
    measurement: "unproven",
    composeHash: undefined,
    gpu: "absent",
    collateralIssuedAt: undefined,
    checkedAt,
    failures: [failure],
  };
}

/** Appraises a report whose quote was verified: its platform, its signer, its event log and its software. */
export function appraise(
  { events, gpuNonce, tlsKeyHash }: AttestationReport,
  { report, status, advisories, collateralIssuedAt }: VerifiedQuote,
  { signer, nonce, tlsKeys, statuses, allowed, now }: Expected,
): Attestation {
  const data = readReportData(Buffer.from(report.reportData), { signer, tlsKeyHash });
  const replayed = replayRuntimeLog(events);
  const isLogTrue = replayed?.equals(Buffer.from(report.rtMr3)) ?? false;
  const composeHash = isLogTrue ? composeHashOf(events) : undefined;
  const measurement = measured(report, composeHash, allowed);
  const isFresh = data?.nonce === undefined ? undefined : data.nonce === nonce;
  const gpu = gpuNonce === undefined ? "absent" : gpuNonce === nonce ? "nonce_matches" : "other_nonce";
  const failures = [
    !statuses.includes(status) && `The platform's status is ${status}.`,
    !data && UNKNOWN_DATA[tlsKeyHash === undefined ? "plain" : "hashed"],
    data && data.signer !== signer && "The quote names another signer than the network acknowledged.",
    data &&
      isOtherKey(data, tlsKeys) &&
      "Connections end at another TLS key than the one that the quote names.",
    isFresh === false && "The quote has another nonce than the one that was sent.",
    !isLogTrue && "The event log does not match the quote.",
    isLogTrue && composeHash === undefined && "The event log does not name the composition that runs.",
    composeHash !== undefined && measurement !== "allowed" && MEASUREMENT_FAILURES[measurement],
    gpu === "other_nonce" && "The GPU's evidence has another nonce than the one that was sent.",
  ].filter((failure) => typeof failure === "string");
  return {
    isPassed: failures.length === 0,
    quote: status,
    advisories,
    signerBound: data?.signer === signer,
    isFresh,
    measurement,
    composeHash,
    gpu,
    collateralIssuedAt,
    checkedAt: now,
    failures,
  };
}

const UNKNOWN_DATA = {
  plain: "The layout of the report data is unknown.",
  hashed: "The report data is not the hash of the acknowledged signer and the stated TLS key.",
} as const;

/** Whether the quote names a TLS key, and not every connection ends at it. */
function isOtherKey({ tlsKeyHash }: ReportData, keys: readonly string[]): boolean {
  return tlsKeyHash !== undefined && !(keys.length > 0 && keys.every((key) => key === tlsKeyHash));
}

const MEASUREMENT_FAILURES = {
  not_listed: "The measured software is not on the operator's list.",
  no_list: "The operator lists no software to accept.",
  unproven: "The measured software is not proved.",
} as const;

function measured(
  { mrTd, rtMr1, rtMr2 }: VerifiedQuote["report"],
  composeHash: string | undefined,
  allowed: readonly AllowedMeasurement[],
): Attestation["measurement"] {
  if (composeHash === undefined) return "unproven";
  if (allowed.length === 0) return "no_list";
  const [mrtd, rtmr1, rtmr2] = [mrTd, rtMr1, rtMr2].map((bytes) => Buffer.from(bytes).toString("hex"));
  const isListed = allowed.some(
    (known) =>
      known.mrtd === mrtd &&
      known.rtmr1 === rtmr1 &&
      known.rtmr2 === rtmr2 &&
      known.composeHash === composeHash,
  );
  return isListed ? "allowed" : "not_listed";
}
