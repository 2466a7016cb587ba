import { once } from "node:events";
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { privateKeyToAccount } from "viem/accounts";
import type { ServiceType } from "../../inference/providers/provider.ts";
import { AppError } from "../../kernel/errors.ts";
import type { Hex } from "../../kernel/text/hex.ts";
import { brokerReport, enclaveReport } from "./attestation-report.ts";
import { type AccountSource, BearerCheck } from "./bearer-check.ts";
import type { Endpoint, EndpointAnswer } from "./endpoints/endpoint.ts";
import { endpointsOf } from "./endpoints/endpoints.ts";
import { type JobBehaviour, type JobReport, StandInJobs } from "./provider-jobs.ts";
import { AnswerSigner, type SigningBehaviour } from "./provider-signature.ts";

/** How the stand-in provider behaves. Absent fields mean a well-behaved provider. */
export type ProviderBehaviour = {
  /** Delay before the first byte of a response. */
  readonly delayMs?: number;
  /** The first byte of a response waits for this. */
  readonly after?: Promise<unknown>;
  /** Delay between the events of a stream. */
  readonly chunkDelayMs?: number;
  /** The number of events in which the text is streamed; by default one per token. */
  readonly chunks?: number;
  /** Replaces the true `usage` object, as JSON text, which may have values that no number can (`1e999`). */
  readonly usageJson?: string;
  /** Additional response headers. */
  readonly headers?: Readonly<Record<string, string>>;
  /** A complete response instead of a completion. */
  readonly instead?: { readonly status: number; readonly contentType: string; readonly body: string };
  /** The connection breaks after this many events of a stream, or in the middle of a plain response. */
  readonly breakAfterEvents?: number;
  /** Omits `ZG-Res-Key`: the key of a response is only in its id. */
  readonly omitsKey?: boolean;
  /** How the provider signs its responses. */
  readonly signing?: SigningBehaviour;
  /** A complete response instead of the attestation report. */
  readonly attestation?: { readonly status: number; readonly body: string };
  /** How asynchronous jobs behave. */
  readonly jobs?: JobBehaviour;
};

/** Options of a stand-in provider: its address on chain, its model, and how it counts a prompt. */
export type ProviderOptions = {
  readonly address: Hex;
  readonly model: string;
  /** By default `chatbot`. */
  readonly serviceType?: ServiceType;
  /** Prompt tokens of a conversation, for `usage`. */
  readonly countTokens: (messages: readonly unknown[]) => number | Promise<number>;
  /** Whether it caches prompts, and reports what it read from its cache; by default not. */
  readonly cachesPrompts?: boolean;
  /** Where sub-accounts are read; without it only the secret itself is checked. */
  readonly accounts?: AccountSource;
  /** Signs the responses; without it there are no signatures. */
  readonly signerKey?: Hex;
  readonly port?: number;
  readonly behaviour?: ProviderBehaviour;
};

const SIGNATURES = "/v1/proxy/signature/";
const QUOTE = "/v1/quote";
const ENCLAVE_REPORT = "/v1/proxy/attestation/report";
const NONCE = /^[0-9a-f]{64}$/;
const MAX_BODY_BYTES = 32 * 1024 * 1024;

/**
 * A stand-in for an inference provider's broker (facts: router-and-chain 2.1): a real HTTP server on 127.0.0.1 that
 * checks its callers like a real one and serves the endpoints of its service type below `/v1/proxy`: chats in OpenAI's
 * and Anthropic's format and responses, plain and streamed; images also as jobs below `/v1/async`; attestation reports, which are not
 * genuine; and `GET /v1/models`. Failures are `{"error": string}`.
 */
export class StandInProvider {
  readonly url: string;
  /** May be set at any time; active requests keep the behaviour with which they began. */
  behaviour: ProviderBehaviour;
  /** Called with every received body and its headers. */
  onBody: ((body: Buffer, headers: IncomingHttpHeaders) => void) | undefined;
  readonly #server: Server;
  readonly #options: ProviderOptions;
  readonly #bearers: BearerCheck;
  readonly #signer: AnswerSigner | undefined;
  readonly #endpoints: ReadonlyMap<string, Endpoint>;
  /** The asynchronous jobs of the provider. */
  readonly jobs = new StandInJobs();
  #requests = 0;
  #aborted = 0;

  /** `server` already listens on `url`. */
  constructor(server: Server, url: string, options: ProviderOptions) {
    this.#server = server;
    this.url = url;
    this.#options = options;
    this.behaviour = options.behaviour ?? {};
    this.#bearers = new BearerCheck(options.address, options.accounts);
    this.#signer = options.signerKey && new AnswerSigner(options.signerKey);
    this.#endpoints = endpointsOf({ ...options, serviceType: options.serviceType ?? "chatbot" });
    server.on("request", (request, response) => void this.#handle(request, response));
  }

  /** The number of received requests, including refused ones. */
  get requests(): number {
    return this.#requests;
  }

  /** Requests whose client disconnected before the end of the response; counted at once. */
  get aborted(): number {
    return this.#aborted;
  }

  /** Stops at once, aborting active requests. */
  async stop(): Promise<void> {
    if (!this.#server.listening) return;
    const closed = once(this.#server, "close");
    this.#server.close();
    this.#server.closeAllConnections();
    await closed;
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = request.url?.split("?")[0] ?? "";
    const endpoint = this.#endpoints.get(path.replace("/v1/async/images/", "/v1/proxy/images/"));
    if (request.method === "POST" && endpoint) {
      this.#requests++;
      const gone = new AbortController();
      const ourBreak = this.behaviour.breakAfterEvents !== undefined;
      response.once("close", () => {
        if (!response.writableFinished && !ourBreak) this.#aborted++;
        gone.abort();
      });
      const isJob = path.startsWith("/v1/async/");
      await this.#serve(request, response, { endpoint, isJob, gone: gone.signal }).catch(() => {
        if (gone.signal.aborted || response.headersSent) response.destroy();
        else refuse(response, 500, "Provider: internal error");
      });
    } else if (request.method === "GET" && path.startsWith("/v1/async/jobs/")) {
      await this.#poll(request, response, path.slice("/v1/async/jobs/".length));
    } else if (request.method === "GET" && path.startsWith(SIGNATURES)) {
      await this.#sign(request, response, decodeURIComponent(path.slice(SIGNATURES.length)));
    } else if (request.method === "GET" && (path === QUOTE || path === ENCLAVE_REPORT)) {
      this.#attest(request, response, path);
    } else if (request.method === "GET" && path === "/v1/models") {
      const data = [{ id: this.#options.model, object: "model", created: 0, owned_by: "devnet" }];
      sendContent(response, 200, JSON.stringify({ object: "list", data }));
    } else refuse(response, 404, "Provider: no such endpoint");
  }

  async #serve(
    request: IncomingMessage,
    response: ServerResponse,
    { endpoint, isJob, gone }: { endpoint: Endpoint; isJob: boolean; gone: AbortSignal },
  ): Promise<void> {
    const behaviour = this.behaviour;
    const body = await readBody(request);
    if (body === undefined) return refuse(response, 413, "Provider: body too large");
    this.onBody?.(body, request.headers);
    const { authorization, "content-type": contentType = "" } = request.headers;
    const refusal = await this.#bearers.refusal(authorization);
    if (refusal) return refuse(response, refusal.status, refusal.error);
    const { usageJson, chunks } = behaviour;
    const answer = await endpoint({ body, contentType, usageJson, chunks });
    if (answer.kind === "refused") return refuse(response, 400, `Provider: ${answer.reason}`);
    if (behaviour.delayMs) await sleep(behaviour.delayMs, undefined, { signal: gone });
    await behaviour.after;
    if (gone.aborted) return;
    for (const [name, value] of Object.entries(behaviour.headers ?? {})) response.setHeader(name, value);
    const { instead } = behaviour;
    if (instead)
      return void response
        .writeHead(instead.status, { "content-type": instead.contentType })
        .end(instead.body);
    const exchange = { request: body, headers: request.headers, answer, model: this.#options.model };
    if (isJob && answer.kind === "whole") {
      const owner = (await this.#bearers.callerOf(authorization)) ?? "";
      const job = this.jobs.submit(owner, answer, behaviour.jobs ?? {});
      if (job.jobId !== undefined) this.#signer?.remember(job.jobId, exchange, behaviour.signing);
      return report(response, job);
    }
    this.#signer?.remember(answer.responseKey, exchange, behaviour.signing);
    await send(response, answer, behaviour, gone);
  }

  async #sign(request: IncomingMessage, response: ServerResponse, answerId: string): Promise<void> {
    const refusal = await this.#bearers.refusal(request.headers.authorization);
    if (refusal) return refuse(response, refusal.status, refusal.error);
    const { signing = {} } = this.behaviour;
    if (signing.delayMs) await sleep(signing.delayMs);
    if (signing.instead) return sendContent(response, signing.instead.status, signing.instead.body);
    const signature = await this.#signer?.signatureOf(answerId, signing);
    if (signature === undefined) return refuse(response, 404, "Provider: no signature of this answer");
    sendContent(response, 200, signature);
  }

  /** Public, as at a real broker. */
  #attest(request: IncomingMessage, response: ServerResponse, path: string): void {
    const { signerKey } = this.#options;
    const { attestation } = this.behaviour;
    const nonce = new URL(request.url ?? "", this.url).searchParams.get("nonce") ?? "";
    if (attestation) sendContent(response, attestation.status, attestation.body);
    else if (signerKey === undefined) refuse(response, 404, "Provider: no attestation");
    else if (path === ENCLAVE_REPORT && !NONCE.test(nonce))
      refuse(response, 400, "Provider: the nonce must be 64 hexadecimal digits");
    else {
      const { address } = privateKeyToAccount(signerKey);
      const report = path === QUOTE ? brokerReport(address) : enclaveReport(address, nonce);
      sendContent(response, 200, JSON.stringify(report));
    }
  }

  async #poll(request: IncomingMessage, response: ServerResponse, jobId: string): Promise<void> {
    const { authorization } = request.headers;
    const refusal = await this.#bearers.refusal(authorization);
    if (refusal) return refuse(response, refusal.status, refusal.error);
    const owner = (await this.#bearers.callerOf(authorization)) ?? "";
    report(response, this.jobs.poll(owner, jobId, this.behaviour.jobs ?? {}));
  }
}

/** Starts a stand-in provider on 127.0.0.1, by default on a free port. Throws `unavailable` if the port is taken. */
export async function startProvider(options: ProviderOptions): Promise<StandInProvider> {
  // Longer than any client keeps an idle connection, so that the server never closes one during a request.
  const server = createServer({ keepAliveTimeout: 120_000 }).listen(options.port ?? 0, "127.0.0.1");
  try {
    await once(server, "listening");
  } catch (cause) {
    throw new AppError("unavailable", `The stand-in provider's port ${options.port} is taken.`, { cause });
  }
  const address = server.address();
  const port = typeof address === "object" && address ? address.port : options.port;
  return new StandInProvider(server, `http://127.0.0.1:${port}`, options);
}

async function send(
  response: ServerResponse,
  answer: Exclude<EndpointAnswer, { kind: "refused" }>,
  { breakAfterEvents, chunkDelayMs, omitsKey }: ProviderBehaviour,
  gone: AbortSignal,
): Promise<void> {
  if (!omitsKey) response.setHeader("ZG-Res-Key", answer.responseKey);
  if (answer.kind === "whole") {
    const { content, contentType } = answer;
    if (breakAfterEvents === undefined) return sendContent(response, 200, content, contentType);
    response.writeHead(200, { "content-type": contentType, "content-length": Buffer.byteLength(content) });
    return void response.write(content.slice(0, content.length / 2), () => response.destroy());
  }
  response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-cache" });
  if (!chunkDelayMs && breakAfterEvents === undefined) return void response.end(answer.events.join(""));
  for (const [index, event] of answer.events.entries()) {
    if (index === breakAfterEvents) return void response.write("", () => response.destroy());
    if (index > 0 && chunkDelayMs) await sleep(chunkDelayMs, undefined, { signal: gone });
    if (!response.write(event)) await once(response, "drain", { signal: gone });
  }
  response.end();
}

async function readBody(request: IncomingMessage): Promise<Buffer | undefined> {
  const parts: Buffer[] = [];
  let size = 0;
  for await (const part of request) {
    size += part.length;
    if (size <= MAX_BODY_BYTES) parts.push(part);
  }
  return size > MAX_BODY_BYTES ? undefined : Buffer.concat(parts);
}

function sendContent(
  response: ServerResponse,
  status: number,
  content: string | Buffer,
  contentType = "application/json",
): void {
  response.writeHead(status, { "content-type": contentType, "content-length": Buffer.byteLength(content) });
  response.end(content);
}

function report(response: ServerResponse, { status, body, retryAfterSeconds }: JobReport): void {
  if (retryAfterSeconds !== undefined) response.setHeader("retry-after", String(retryAfterSeconds));
  sendContent(response, status, JSON.stringify(body));
}

function refuse(response: ServerResponse, status: number, error: string): void {
  sendContent(response, status, JSON.stringify({ error }));
}
