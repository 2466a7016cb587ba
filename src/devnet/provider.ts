import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { AppError } from "../kernel/errors.ts";
import type { Hex } from "../kernel/hex.ts";
import { type AccountSource, BearerCheck } from "./bearer-check.ts";
import { toEvents, toPlainAnswer } from "./completion.ts";
import { type Composed, Composer } from "./composer.ts";

/** How the stand-in provider behaves, well or badly. Everything absent is as a good provider has it. */
export type ProviderBehaviour = {
  /** Before the first byte of an answer. */
  readonly delayMs?: number;
  /** Between the events of a stream. */
  readonly chunkDelayMs?: number;
  /** In how many events the text is streamed; one a token unless given. */
  readonly chunks?: number;
  /** Sent where the true `usage` object belongs, as JSON text, which may say what no number can (`1e999`). */
  readonly usageJson?: string;
  /** Sent besides our own headers. */
  readonly headers?: Readonly<Record<string, string>>;
  /** A whole answer in place of a completion. */
  readonly instead?: { readonly status: number; readonly contentType: string; readonly body: string };
  /** The connection breaks after so many events of a stream, or in the middle of a plain answer. */
  readonly breakAfterEvents?: number;
};

/** What a stand-in provider is: its address on chain, its model, and how it counts a prompt. */
export type ProviderOptions = {
  readonly address: Hex;
  readonly model: string;
  /** Prompt tokens of a conversation, for `usage`. */
  readonly countTokens: (messages: readonly unknown[]) => number;
  /** Where sub-accounts are looked up; without it only the secret itself is checked. */
  readonly accounts?: AccountSource;
  readonly port?: number;
  readonly behaviour?: ProviderBehaviour;
};

const MAX_BODY_BYTES = 32 * 1024 * 1024;

/**
 * A stand-in for an inference provider's broker (facts: router-and-chain 2.1): a real HTTP server on 127.0.0.1 that
 * checks its callers as a real one does and answers `POST /v1/proxy/chat/completions`, plain and streamed, and
 * `GET /v1/models`. Failures are `{"error": string}`.
 */
export class StandInProvider {
  readonly url: string;
  /** From now on; may be set at any time. Requests under way keep what they began with. */
  behaviour: ProviderBehaviour;
  readonly #server: Server;
  readonly #options: ProviderOptions;
  readonly #bearers: BearerCheck;
  readonly #composer: Composer;
  #requests = 0;
  #aborted = 0;

  /** `server` listens on `url` already. */
  constructor(server: Server, url: string, options: ProviderOptions) {
    this.#server = server;
    this.url = url;
    this.#options = options;
    this.behaviour = options.behaviour ?? {};
    this.#bearers = new BearerCheck(options.address, options.accounts);
    this.#composer = new Composer(options.countTokens);
    server.on("request", (request, response) => void this.#handle(request, response));
  }

  /** Chat requests that came in, refused ones too. */
  get requests(): number {
    return this.#requests;
  }

  /** Chat requests whose client went away before the end of the answer; counted at once. */
  get aborted(): number {
    return this.#aborted;
  }

  /** Ends at once, breaking what is under way. */
  async stop(): Promise<void> {
    if (!this.#server.listening) return;
    const closed = once(this.#server, "close");
    this.#server.close();
    this.#server.closeAllConnections();
    await closed;
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = request.url?.split("?")[0];
    if (request.method === "POST" && path === "/v1/proxy/chat/completions") {
      this.#requests++;
      const gone = new AbortController();
      const ourBreak = this.behaviour.breakAfterEvents !== undefined;
      response.once("close", () => {
        if (!response.writableFinished && !ourBreak) this.#aborted++;
        gone.abort();
      });
      await this.#chat(request, response, gone.signal).catch(() => {
        if (gone.signal.aborted || response.headersSent) response.destroy();
        else refuse(response, 500, "Provider: internal error");
      });
    } else if (request.method === "GET" && path === "/v1/models") {
      const data = [{ id: this.#options.model, object: "model", created: 0, owned_by: "devnet" }];
      sendJson(response, 200, JSON.stringify({ object: "list", data }));
    } else refuse(response, 404, "Provider: no such endpoint");
  }

  async #chat(request: IncomingMessage, response: ServerResponse, gone: AbortSignal): Promise<void> {
    const behaviour = this.behaviour;
    const body = await readBody(request);
    if (body === undefined) return refuse(response, 413, "Provider: body too large");
    const refusal = await this.#bearers.refusal(request.headers.authorization);
    if (refusal) return refuse(response, refusal.status, refusal.error);
    const known = this.#composer.compose(body);
    if (!known) return refuse(response, 400, "Provider: not a chat request");
    if (known.request.model !== this.#options.model)
      return refuse(response, 400, `Provider: model ${known.request.model} is not served here`);
    if (behaviour.delayMs) await sleep(behaviour.delayMs, undefined, { signal: gone });
    for (const [name, value] of Object.entries(behaviour.headers ?? {})) response.setHeader(name, value);
    const { instead } = behaviour;
    if (instead)
      return void response
        .writeHead(instead.status, { "content-type": instead.contentType })
        .end(instead.body);
    await this.#answer(response, known, behaviour, gone);
  }

  async #answer(
    response: ServerResponse,
    known: Composed,
    behaviour: ProviderBehaviour,
    gone: AbortSignal,
  ): Promise<void> {
    const { request } = known;
    const { usageJson = known.completion.usageJson, chunks, chunkDelayMs, breakAfterEvents } = behaviour;
    const completion = { ...known.completion, usageJson };
    const head = {
      id: `chatcmpl-${randomUUID()}`,
      model: request.model,
      created: Math.floor(Date.now() / 1_000),
    };
    response.setHeader("ZG-Res-Key", head.id);
    if (!request.stream) {
      const text = toPlainAnswer(head, completion);
      if (breakAfterEvents === undefined) return sendJson(response, 200, text);
      response.writeHead(200, {
        "content-type": "application/json",
        "content-length": Buffer.byteLength(text),
      });
      return void response.write(text.slice(0, text.length / 2), () => response.destroy());
    }
    response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-cache" });
    const includeUsage = request.stream_options?.include_usage === true;
    const events = toEvents(head, completion, { includeUsage, chunks });
    if (!chunkDelayMs && breakAfterEvents === undefined) return void response.end(events.join(""));
    for (const [index, event] of events.entries()) {
      if (index === breakAfterEvents) return void response.write("", () => response.destroy());
      if (index > 0 && chunkDelayMs) await sleep(chunkDelayMs, undefined, { signal: gone });
      if (!response.write(event)) await once(response, "drain", { signal: gone });
    }
    response.end();
  }
}

/** Starts a stand-in provider on 127.0.0.1; a free port unless given. Throws `unavailable` when the port is taken. */
export async function startProvider(options: ProviderOptions): Promise<StandInProvider> {
  // Longer than any client keeps an idle connection, so that it is never we who close under a request.
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

async function readBody(request: IncomingMessage): Promise<string | undefined> {
  const parts: Buffer[] = [];
  let size = 0;
  for await (const part of request) {
    size += part.length;
    if (size <= MAX_BODY_BYTES) parts.push(part);
  }
  return size > MAX_BODY_BYTES ? undefined : Buffer.concat(parts).toString("utf8");
}

function sendJson(response: ServerResponse, status: number, text: string): void {
  response.writeHead(status, {
    "content-type": "application/json",
    "content-length": Buffer.byteLength(text),
  });
  response.end(text);
}

function refuse(response: ServerResponse, status: number, error: string): void {
  sendJson(response, status, JSON.stringify({ error }));
}
