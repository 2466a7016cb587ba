import { X509Certificate } from "node:crypto";
import {
  type Collateral,
  constants,
  intel,
  Quote,
  QuoteVerifier,
  type TcbStatus,
  type TDReport10,
} from "@phala/dcap-qvl";
import { z } from "zod";
import { revocationListFault } from "./revocation-list.ts";

/** The kind of machine that Intel's collateral is for, and the authority that certifies it. */
export type Platform = { readonly fmspc: string; readonly ca: "platform" | "processor" };

/** A quote whose signatures and certificates hold. `status` is Intel's judgement of the platform. */
export type VerifiedQuote = {
  readonly status: TcbStatus;
  readonly advisories: readonly string[];
  readonly report: TDReport10;
  /** When Intel issued the platform information that the status is from. */
  readonly collateralIssuedAt: Date;
};

const ModuleIdentity = z.object({
  mrsigner: z.string(),
  attributes: z.string(),
  attributesMask: z.string(),
});
const TcbInfo = z.object({
  issueDate: z.iso.datetime().transform((text) => new Date(text)),
  tdxModule: ModuleIdentity.optional(),
  tdxModuleIdentities: z
    .array(
      ModuleIdentity.extend({
        id: z.string(),
        tcbLevels: z.array(
          z.object({
            tcb: z.object({ isvsvn: z.int() }),
            tcbStatus: z.string(),
            advisoryIDs: z.array(z.string()).default([]),
          }),
        ),
      }),
    )
    .default([]),
});

/** The platform that a quote's certificate names, before anything is verified. Throws an `Error` with the reason. */
export function platformOf(quote: Buffer): Platform {
  const parsed = Quote.parse(quote);
  try {
    const fmspc = Buffer.from(intel.getFmspc(parsed)).toString("hex").toUpperCase();
    // The library's own `getCa` takes every authority for that of processors.
    return { fmspc, ca: certificateOf(parsed).issuer.includes("PCK Platform CA") ? "platform" : "processor" };
  } catch (cause) {
    throw new Error("the quote has no Intel platform certificate", { cause });
  }
}

/**
 * Verifies an Intel TDX quote with its collateral at `now`, offline: the library checks certificates, signatures, dates,
 * the quoting enclave and the platform; the revocation lists and the identity of the TDX module, which the library
 * accepts unchecked, are checked here. `rootCa` replaces Intel's root, as DER. Throws an `Error` with the reason.
 */
export function verifyQuote(
  quote: Buffer,
  collateral: Collateral,
  now: Date,
  rootCa: Buffer = constants.TRUSTED_ROOT_CA_DER,
): VerifiedQuote {
  requireRevocationLists(quote, collateral, { now, rootCa });
  const seconds = Math.floor(now.getTime() / 1_000);
  const verified = QuoteVerifier.newWithRootCa(rootCa).verify(quote, collateral, seconds);
  const report = verified.report.asTd10();
  if (!report) throw new Error("the quote is not of a TDX virtual machine");
  const info = TcbInfo.parse(JSON.parse(collateral.tcb_info));
  const module = moduleLevel(info, report);
  return {
    status: verified.status === "UpToDate" ? module.status : verified.status,
    advisories: [...new Set([...verified.advisory_ids, ...module.advisories])],
    report,
    collateralIssuedAt: info.issueDate,
  };
}

/**
 * Both lists must be signed and current, and the issuer of the second must descend from the root and have certified the
 * platform: the list of another authority would revoke none of its certificates.
 */
function requireRevocationLists(
  quote: Buffer,
  collateral: Collateral,
  { now, rootCa }: { readonly now: Date; readonly rootCa: Buffer },
): void {
  const root = new X509Certificate(rootCa);
  const [issuer] = certificatesOf(collateral.pck_crl_issuer_chain);
  if (!issuer?.verify(root.publicKey)) throw new Error("the issuer of the revocation list is not trusted");
  if (now < new Date(issuer.validFrom) || now > new Date(issuer.validTo))
    throw new Error("the issuer of the revocation list is not current");
  if (!certificateOf(Quote.parse(quote)).verify(issuer.publicKey))
    throw new Error("the platform revocation list is of another authority than the quote's certificate");
  for (const [name, list, by] of [
    ["root", collateral.root_ca_crl, root],
    ["platform", collateral.pck_crl, issuer],
  ] as const) {
    const bytes = typeof list === "string" ? Buffer.from(list, "hex") : Buffer.from(list);
    const fault = revocationListFault(bytes, by, now);
    if (fault !== undefined) throw new Error(`the ${name} revocation list is ${fault}`);
  }
}

/** The certificate of the platform that made a quote. */
function certificateOf(quote: Quote): X509Certificate {
  const [certificate] = certificatesOf(Buffer.from(quote.rawCertChain()).toString("latin1"));
  if (!certificate) throw new Error("the quote has no certificate");
  return certificate;
}

function certificatesOf(pem: string): readonly X509Certificate[] {
  const found = pem.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? [];
  return found.map((text) => new X509Certificate(text));
}

/** The level of the TDX module that the quote names, by Intel's rules: its version selects the identity. */
function moduleLevel(
  { tdxModule, tdxModuleIdentities }: z.output<typeof TcbInfo>,
  report: TDReport10,
): { readonly status: TcbStatus; readonly advisories: readonly string[] } {
  const [svn = 0, version = 0] = report.teeTcbSvn;
  if (version === 0) {
    requireModule(tdxModule, report);
    return { status: "UpToDate", advisories: [] };
  }
  const id = `TDX_${version.toString(16).toUpperCase().padStart(2, "0")}`;
  const identity = tdxModuleIdentities.find((known) => known.id === id);
  requireModule(identity, report);
  const level = identity?.tcbLevels.find(({ tcb }) => tcb.isvsvn <= svn);
  if (!level) throw new Error("the TDX module is older than any that Intel lists");
  if (level.tcbStatus === "Revoked") throw new Error("the TDX module is revoked");
  return { status: level.tcbStatus as TcbStatus, advisories: level.advisoryIDs };
}

function requireModule(identity: z.output<typeof ModuleIdentity> | undefined, report: TDReport10): void {
  if (!identity) throw new Error("the TDX module is not one that Intel lists");
  const mask = Buffer.from(identity.attributesMask, "hex");
  const masked = Buffer.from(report.seamAttributes.map((byte, at) => byte & (mask[at] ?? 0xff)));
  const isKnown =
    Buffer.from(report.mrSignerSeam).equals(Buffer.from(identity.mrsigner, "hex")) &&
    masked.equals(Buffer.from(identity.attributes, "hex"));
  if (!isKnown) throw new Error("the TDX module is not signed by Intel");
}
