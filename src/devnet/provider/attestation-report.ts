import { createHash } from "node:crypto";
import { replayRuntimeLog } from "../../inference/attestation/event-log.ts";
import type { Hex } from "../../kernel/text/hex.ts";

/** Version 4, ECDSA with P-256, TDX, no versions, and the vendor id of Intel's quoting enclave. */
const HEADER = "04000200810000000000000000000000939a7233f79c4ca9940a0db3957f0607";
const COMPOSITION = "A stand-in without an enclave.";
const RUNTIME_EVENT = 134_217_729;

/**
 * The report of `GET /v1/quote`, in the shape that brokers publish (facts: evidence 2). Its quote is well formed and names
 * the signer, and its event log matches the quote. But it is not genuine, since no enclave made it: it has no certificate,
 * and zeros in place of its signatures.
 */
export function brokerReport(signer: Hex): object {
  const reportData = padded(Buffer.from(signer.toLowerCase()), 64);
  return { quote: quoteOf(reportData), event_log: JSON.stringify(events()), vm_config: "{}" };
}

/** The report of `GET /v1/proxy/attestation/report`, as `brokerReport`, with the nonce that was sent. */
export function enclaveReport(signer: Hex, nonce: string): object {
  const address = padded(Buffer.from(signer.slice(2), "hex"), 32);
  const reportData = Buffer.concat([address, padded(Buffer.from(nonce, "hex"), 32)]);
  return {
    signing_address: signer,
    signing_algo: "ecdsa",
    request_nonce: nonce,
    intel_quote: quoteOf(reportData),
    event_log: JSON.stringify(events()),
  };
}

function events() {
  const payload = createHash("sha256").update(COMPOSITION).digest("hex");
  const type = Buffer.alloc(4);
  type.writeUInt32LE(RUNTIME_EVENT);
  const digest = createHash("sha384").update(type).update(":compose-hash:").update(payload, "hex");
  return [
    {
      imr: 3,
      event_type: RUNTIME_EVENT,
      digest: digest.digest("hex"),
      event: "compose-hash",
      event_payload: payload,
    },
  ];
}

function quoteOf(reportData: Buffer): string {
  const runtimeRegister = replayRuntimeLog(events());
  if (!runtimeRegister) throw new Error("the stand-in's events do not replay");
  const signatures = signatureData();
  const body = Buffer.alloc(584);
  runtimeRegister.copy(body, 472);
  reportData.copy(body, 520);
  const header = padded(Buffer.from(HEADER, "hex"), 48);
  return Buffer.concat([header, body, uint32(signatures.length), signatures]).toString("hex");
}

/** A signature and its key, then the quoting enclave's report, signature, no data, and an empty chain of certificates. */
function signatureData(): Buffer {
  const chain = Buffer.concat([uint16(5), uint32(0)]);
  const enclave = Buffer.concat([Buffer.alloc(384 + 64), uint16(0), chain]);
  return Buffer.concat([Buffer.alloc(64 + 64), uint16(6), uint32(enclave.length), enclave]);
}

function padded(bytes: Buffer, length: number): Buffer {
  return Buffer.concat([bytes.subarray(0, length), Buffer.alloc(Math.max(0, length - bytes.length))]);
}

function uint16(value: number): Buffer {
  const bytes = Buffer.alloc(2);
  bytes.writeUInt16LE(value);
  return bytes;
}

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
}
