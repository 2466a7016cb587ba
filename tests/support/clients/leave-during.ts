import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { onTestFinished, vi } from "vitest";
import type { Stack } from "../stack.ts";
import { until } from "../until.ts";

/** A request as a client writes it. */
export type RawRequest = {
  readonly method: "GET" | "POST";
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: object;
};

/**
 * Sends a request whose client leaves while the server waits in a method of a service. The method returns once the
 * server has noticed that.
 */
export async function leaveDuring<Name extends string>(
  { server, origin }: Stack,
  service: Readonly<Record<Name, (...args: never[]) => Promise<unknown>>>,
  method: Name,
  request: RawRequest,
): Promise<void> {
  const { promise: noticed, resolve: notice } = Promise.withResolvers<void>();
  const held = service as unknown as Record<string, (...args: unknown[]) => Promise<unknown>>;
  const original = held[method]?.bind(service);
  let isCalled = false;
  const holding = vi.spyOn(held, method as string).mockImplementation(async (...args) => {
    isCalled = true;
    await noticed;
    return original?.(...args);
  });
  onTestFinished(() => holding.mockRestore());
  const accepted = once(server.server, "connection") as Promise<[Socket]>;
  const { hostname, port } = new URL(origin);
  const client = connect(Number(port), hostname);
  client.on("error", () => {});
  client.write(toText(request));
  const [socket] = await accepted;
  await until(() => isCalled);
  client.destroy();
  await until(() => socket.closed);
  holding.mockRestore();
  notice();
}

function toText({ method, path, headers, body }: RawRequest): string {
  const text = body === undefined ? "" : JSON.stringify(body);
  const all = {
    host: "localhost",
    ...headers,
    ...(body && { "content-type": "application/json", "content-length": String(Buffer.byteLength(text)) }),
  };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  return `${method} ${path} HTTP/1.1\r\n${lines.join("")}\r\n${text}`;
}
