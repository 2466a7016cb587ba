import { once } from "node:events";
import { createServer, type IncomingHttpHeaders, type Server, type ServerResponse } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";

/** One request as received by a scripted provider. */
export type Call = {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: { readonly model: string; readonly stream?: boolean } & Readonly<Record<string, unknown>>;
  readonly atMs: number;
  /** The raw body. */
  readonly bytes: Buffer;
};

/** Handles a request, with full access to the connection. `n` counts the calls of this model from 0. */
export type Script = (call: Call, response: ServerResponse, n: number) => void | Promise<void>;

/** A real HTTP server on 127.0.0.1 with OpenAI's API and the faults of its scripts. */
export class ScriptedProvider {
  readonly url: string;
  readonly calls: Call[] = [];
  /** By model; a model without a script is answered normally. */
  readonly scripts = new Map<string, Script>();
  readonly #server: Server;

  constructor(server: Server, url: string) {
    this.#server = server;
    this.url = url;
    server.on("request", (request, response) => {
      void (async () => {
        const parts: Buffer[] = [];
        for await (const part of request) parts.push(part);
        const body = readParts(parts);
        const call = {
          path: request.url ?? "",
          headers: request.headers,
          body,
          atMs: performance.now(),
          /** Joined when a test reads it: joining a long body takes a turn of the event loop that tests measure. */
          get bytes() {
            return Buffer.concat(parts);
          },
        };
        const n = this.callsOf(body.model).length;
        this.calls.push(call);
        await (this.scripts.get(body.model) ?? good)(call, response, n);
      })().catch(() => response.destroy());
    });
  }

  callsOf(model: string): readonly Call[] {
    return this.calls.filter(({ body }) => body.model === model);
  }

  async stop(): Promise<void> {
    const closed = once(this.#server, "close");
    this.#server.close();
    this.#server.closeAllConnections();
    await closed;
  }
}

/** Parsing a longer body would block the event loop that the tests measure. */
const MAX_READ_BYTES = 1_048_576;
const HEAD_BYTES = 1_024;

function readParts(parts: readonly Buffer[]): Call["body"] {
  const sizeBytes = parts.reduce((sum, { length }) => sum + length, 0);
  if (sizeBytes <= MAX_READ_BYTES) return readBody(Buffer.concat(parts).toString("latin1"));
  return readHead(Buffer.concat(parts, HEAD_BYTES));
}

/** What the first bytes of a long JSON body show. */
function readHead(bytes: Buffer): Call["body"] {
  const head = bytes.toString("latin1");
  const [, model = ""] =
    /"model":"([^"]*)"/.exec(head) ?? /name="model"\r\n\r\n([^\r]*)\r\n/.exec(head) ?? [];
  return { model, stream: head.includes('"stream":true') };
}

/** A JSON body, or the model of a form. */
function readBody(text: string): Call["body"] {
  const [, model] = /name="model"\r\n\r\n([^\r]*)\r\n/.exec(text) ?? [];
  return model === undefined ? JSON.parse(Buffer.from(text, "latin1").toString("utf8")) : { model };
}

/** Starts one on a free port. */
export async function startScripted(): Promise<ScriptedProvider> {
  const server = createServer({ keepAliveTimeout: 120_000, maxHeaderSize: 131_072 }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (typeof address !== "object" || !address) throw new Error("not listening");
  return new ScriptedProvider(server, `http://127.0.0.1:${address.port}/v1`);
}

/** The words of a normal answer. */
export const WORDS = ["The", " sea", " is", " a", " wide", " and", " open", " place"] as const;
export const TEXT = WORDS.join("");
export const USAGE = { prompt_tokens: 9, completion_tokens: 8, total_tokens: 17 };

/** A normal answer, whole. */
export function completion(fields: object = {}): object {
  return {
    id: "chatcmpl-1",
    object: "chat.completion",
    created: 1_700_000_000,
    model: "scripted",
    choices: choicesOf(1),
    usage: USAGE,
    ...fields,
  };
}

function choicesOf(count: number): readonly object[] {
  const message = { role: "assistant", content: TEXT };
  return Array.from({ length: count }, (_, index) => ({ index, message, finish_reason: "stop" }));
}

/** One event of a stream. */
export function event(choice: object | undefined, fields: object = {}): string {
  const choices = choice ? [{ index: 0, finish_reason: null, ...choice }] : [];
  const head = {
    id: "chatcmpl-1",
    object: "chat.completion.chunk",
    created: 1_700_000_000,
    model: "scripted",
  };
  return `data: ${JSON.stringify({ ...head, choices, ...fields })}\n\n`;
}

export const ROLE = event({ delta: { role: "assistant", content: "" } });
export const FINISH = event({ delta: {}, finish_reason: "stop" });
export const USAGE_CHUNK = event(undefined, { usage: USAGE });
export const DONE = "data: [DONE]\n\n";

/** The events of a normal stream. */
export function events(words: readonly string[] = WORDS): readonly string[] {
  return [ROLE, ...words.map((content) => event({ delta: { content } })), FINISH, USAGE_CHUNK, DONE];
}

/** Answers as a working provider does. */
export const good: Script = (call, response) => {
  if (!call.body.stream)
    sendJson(response, 200, completion({ choices: choicesOf(Number(call.body.n ?? 1)) }));
  else openStream(response).end(events().join(""));
};

export function sendJson(response: ServerResponse, status: number, value: unknown, headers = {}): void {
  response.writeHead(status, { "content-type": "application/json", ...headers }).end(JSON.stringify(value));
}

export function openStream(response: ServerResponse, headers = {}): ServerResponse {
  return response.writeHead(200, { "content-type": "text/event-stream", ...headers });
}

/** Writes piece by piece, as a network splits it. */
export async function trickle(
  response: ServerResponse,
  pieces: readonly (string | Buffer)[],
  pauseMs = 0,
): Promise<void> {
  for (const piece of pieces) {
    await new Promise<void>((done) => void response.write(piece, () => done()));
    await sleep(pauseMs);
  }
}

/** Breaks the connection once everything written has been sent. */
export async function breakOff(response: ServerResponse): Promise<void> {
  await sleep(20);
  response.destroy();
}
