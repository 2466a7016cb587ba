import type { Collateral } from "@phala/dcap-qvl";
import QuickLru from "quick-lru";
import { Agent, type Dispatcher, request } from "undici";
import { z } from "zod";
import type { Clock } from "../../kernel/clock.ts";
import type { Logger } from "../../kernel/log.ts";
import type { Platform } from "./quote-verification.ts";

type Dependencies = {
  /** The base URL of Intel's provisioning service, or of a cache of it. */
  readonly url: string;
  readonly clock: Clock;
  readonly log?: Pick<Logger, "warn">;
  /** How long each response may take. Defaults to 20 s. */
  readonly timeoutMs?: number;
};

const MAX_BYTES = 1_048_576;
const TIMEOUT_MS = 20_000;
/** Collateral is valid for weeks; newer one may judge a platform differently. */
const KEPT_MS = 6 * 3_600_000;
/** When it is requested again after a failure. */
const RETRY_MS = 300_000;
const REMEMBERED_PLATFORMS = 100;

const TcbInfoBody = z.object({ tcbInfo: z.looseObject({}), signature: z.string() });
const IdentityBody = z.object({ enclaveIdentity: z.looseObject({}), signature: z.string() });

/** The client for Intel's collateral of a platform: certificates, revocation lists and status, kept for some hours. */
export class CollateralClient {
  readonly #dependencies: Dependencies;
  readonly #agent = new Agent({ connect: { timeout: TIMEOUT_MS } });
  readonly #kept = new QuickLru<string, { readonly collateral: Collateral; readonly sinceMs: number }>({
    maxSize: REMEMBERED_PLATFORMS,
  });

  constructor(dependencies: Dependencies) {
    this.#dependencies = dependencies;
  }

  /**
   * The collateral for a platform, not yet verified. What was read before is used on while it cannot be read anew: quotes
   * are only verified with it until it expires. Throws an `Error` for an incomplete response where there is none.
   */
  async collateralFor({ fmspc, ca }: Platform): Promise<Collateral> {
    const key = `${fmspc} ${ca}`;
    const nowMs = this.#dependencies.clock.monotonicMs();
    const kept = this.#kept.get(key);
    if (kept && nowMs - kept.sinceMs < KEPT_MS) return kept.collateral;
    try {
      const collateral = await this.#fetch(fmspc, ca);
      this.#kept.set(key, { collateral, sinceMs: nowMs });
      return collateral;
    } catch (error) {
      if (!kept) throw error;
      this.#dependencies.log?.warn({ err: error }, "Intel's collateral could not be renewed");
      this.#kept.set(key, { ...kept, sinceMs: nowMs - KEPT_MS + RETRY_MS });
      return kept.collateral;
    }
  }

  /** Has the collateral of a platform read anew the next time, because it did not verify a quote. */
  forget({ fmspc, ca }: Platform): void {
    this.#kept.delete(`${fmspc} ${ca}`);
  }

  close(): Promise<void> {
    return this.#agent.destroy();
  }

  async #fetch(fmspc: string, ca: string): Promise<Collateral> {
    const [crl, root, tcb, identity] = await Promise.all([
      this.#get(`sgx/certification/v4/pckcrl?ca=${encodeURIComponent(ca)}&encoding=der`),
      this.#get("sgx/certification/v4/rootcacrl"),
      this.#get(`tdx/certification/v4/tcb?fmspc=${fmspc}`),
      this.#get("tdx/certification/v4/qe/identity"),
    ]);
    const { tcbInfo, signature: tcbSignature } = TcbInfoBody.parse(JSON.parse(tcb.body.toString("utf8")));
    const qe = IdentityBody.parse(JSON.parse(identity.body.toString("utf8")));
    return {
      pck_crl_issuer_chain: chainIn(crl.headers, "sgx-pck-crl-issuer-chain"),
      pck_crl: crl.body.toString("hex"),
      root_ca_crl: derOf(root.body).toString("hex"),
      tcb_info_issuer_chain: chainIn(tcb.headers, "tcb-info-issuer-chain", "sgx-tcb-info-issuer-chain"),
      tcb_info: JSON.stringify(tcbInfo),
      tcb_info_signature: tcbSignature,
      qe_identity_issuer_chain: chainIn(identity.headers, "sgx-enclave-identity-issuer-chain"),
      qe_identity: JSON.stringify(qe.enclaveIdentity),
      qe_identity_signature: qe.signature,
    };
  }

  async #get(path: string): Promise<{ readonly headers: Headers; readonly body: Buffer }> {
    const url = `${this.#dependencies.url.replace(/\/+$/, "")}/${path}`;
    const signal = AbortSignal.timeout(this.#dependencies.timeoutMs ?? TIMEOUT_MS);
    const { statusCode, headers, body } = await request(url, { dispatcher: this.#agent, signal });
    const chunks: Buffer[] = [];
    let size = 0;
    for await (const chunk of body) {
      size += chunk.length;
      if (size > MAX_BYTES) throw new Error(`the answer to ${path} is too long`);
      chunks.push(chunk);
    }
    if (statusCode !== 200) throw new Error(`status ${statusCode} for ${path}`);
    return { headers, body: Buffer.concat(chunks) };
  }
}

type Headers = Dispatcher.ResponseData["headers"];

/** A certificate chain in a header, URL-encoded PEM. */
function chainIn(headers: Headers, ...names: readonly string[]): string {
  const value = names.map((name) => headers[name]).find((found) => typeof found === "string");
  if (typeof value !== "string") throw new Error(`no certificate chain in the header ${names[0]}`);
  return decodeURIComponent(value);
}

/** Caches return this list as hexadecimal text, Intel as DER. */
function derOf(body: Buffer): Buffer {
  const text = body.toString("latin1").trim();
  return /^([0-9a-fA-F]{2})+$/.test(text) ? Buffer.from(text, "hex") : body;
}
