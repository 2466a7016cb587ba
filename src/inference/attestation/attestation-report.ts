import { z } from "zod";

/** An entry of the event log of a TDX virtual machine (facts: evidence 2). */
export type LogEvent = {
  readonly imr: number;
  readonly event_type: number;
  readonly digest: string;
  readonly event: string;
  readonly event_payload: string;
};

/** A provider's attestation report, in either of the two published shapes. */
export type AttestationReport = {
  readonly quote: Buffer;
  readonly events: readonly LogEvent[];
  /** The nonce in the GPU's evidence; undefined if the report has none. */
  readonly gpuNonce: string | undefined;
  /** The SHA-256 of the TLS key that the report says its quote names, 64 hexadecimal digits; undefined if it states none. */
  readonly tlsKeyHash: string | undefined;
};

const MAX_EVENTS = 1_000;
const hex = z.string().regex(/^(0x)?([0-9a-fA-F]{2})+$/);

const Events = z
  .array(
    z.object({
      imr: z.int().min(0).max(3),
      event_type: z.int().min(0).max(0xffff_ffff),
      digest: z.string().regex(/^[0-9a-fA-F]{96}$/),
      event: z.string().max(256),
      event_payload: z.string().max(65_536),
    }),
  )
  .max(MAX_EVENTS);

/** `GET /v1/quote` names its quote `quote`, `GET /v1/proxy/attestation/report` names it `intel_quote`. */
const Report = z.object({
  quote: hex.optional(),
  intel_quote: hex.optional(),
  event_log: z.union([z.string(), Events]).optional(),
  nvidia_payload: z.string().optional().catch(undefined),
  tls_cert_fingerprint: z
    .string()
    .regex(/^[0-9a-fA-F]{64}$/)
    .optional()
    .catch(undefined),
});

/** Reads a report. Undefined if it is malformed. */
export function readReport(body: Buffer): AttestationReport | undefined {
  const report = Report.safeParse(parsed(body.toString("utf8"))).data;
  const quote = report?.intel_quote ?? report?.quote;
  if (!report || quote === undefined) return undefined;
  const { event_log: log = [] } = report;
  const events = typeof log === "string" ? Events.safeParse(parsed(log)).data : log;
  if (!events) return undefined;
  return {
    quote: Buffer.from(quote.replace(/^0x/, ""), "hex"),
    events,
    gpuNonce: nonceOf(report.nvidia_payload),
    tlsKeyHash: report.tls_cert_fingerprint?.toLowerCase(),
  };
}

function nonceOf(payload: string | undefined): string | undefined {
  if (payload === undefined) return undefined;
  const { nonce } = z.object({ nonce: z.string() }).safeParse(parsed(payload)).data ?? {};
  return nonce?.toLowerCase() ?? "";
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
