import { once } from "node:events";
import { type IncomingHttpHeaders, type OutgoingHttpHeaders, request } from "node:http";
import { connect } from "node:net";

/** An answer as received. `isWhole` is false when the connection broke before its end. */
export type RawReply = {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
  readonly isWhole: boolean;
};

/** Requests a path exactly as written: `fetch` would normalize it, and does not support status 600. */
export function rawGet(
  origin: string,
  path: string,
  { method = "GET", headers = {} }: { method?: string; headers?: OutgoingHttpHeaders } = {},
): Promise<RawReply> {
  const { hostname, port } = new URL(origin);
  return new Promise((resolve, reject) => {
    const asked = request({ hostname, port, path, method, headers, agent: false }, (reply) => {
      const chunks: Buffer[] = [];
      const end = () =>
        resolve({
          status: reply.statusCode ?? 0,
          headers: reply.headers,
          body: Buffer.concat(chunks),
          isWhole: reply.complete,
        });
      reply.on("data", (chunk: Buffer) => chunks.push(chunk));
      reply.on("error", () => {});
      reply.on("close", end);
    });
    asked.on("error", reject);
    asked.end();
  });
}

/** Posts raw bytes. Resolves with the status, 0 where the connection was closed without an answer. */
export function rawPost(
  origin: string,
  path: string,
  { method = "POST", body, headers }: { method?: string; body: Buffer; headers: Record<string, string> },
): Promise<number> {
  const { hostname, port } = new URL(origin);
  const length = { "content-length": String(body.length) };
  return new Promise((resolve) => {
    const asked = request(
      { hostname, port, path, method, headers: { ...headers, ...length }, agent: false },
      (reply) => {
        reply.resume();
        reply.on("close", () => resolve(reply.statusCode ?? 0));
      },
    );
    asked.on("error", () => resolve(0));
    asked.end(body);
  });
}

/**
 * Posts a body as simple clients do, which read nothing before they have sent all of it. Resolves with the
 * head of the answer; rejects when the connection broke while they were sending.
 */
export async function postThenRead(
  origin: string,
  path: string,
  { body, headers }: { body: Buffer; headers: Record<string, string> },
): Promise<string> {
  const { hostname, port } = new URL(origin);
  const socket = connect(Number(port), hostname).pause();
  const lines = Object.entries({ ...headers, host: hostname, "content-length": String(body.length) });
  const head = lines.map(([name, value]) => `${name}: ${value}\r\n`).join("");
  try {
    await new Promise<void>((resolve, reject) => {
      socket.once("error", reject);
      socket.write(`POST ${path} HTTP/1.1\r\n${head}\r\n`);
      socket.write(body, () => resolve());
    });
    const [answer] = (await once(socket.resume(), "data")) as [Buffer];
    return answer.toString("latin1").split("\r\n\r\n")[0] ?? "";
  } finally {
    socket.destroy();
  }
}
