import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";

/** A JSON-RPC call on its way to the node. */
type RpcCall = { readonly id: number; readonly method: string; readonly params: readonly unknown[] };

/**
 * What happens to a call: it passes, unchanged or changed, is answered here, is cut off, or gets no answer.
 */
export type Verdict =
  | "pass"
  | "cut"
  | "hang"
  | { readonly params: readonly unknown[] }
  | { readonly text: string }
  | { readonly result: unknown }
  | { readonly error: { readonly code: number; readonly message: string } };

/** A JSON-RPC endpoint in front of another one, with faults. */
export type RpcProxy = {
  readonly url: string;
  readonly calls: RpcCall[];
  judge: (call: RpcCall) => Verdict | Promise<Verdict>;
};

/** Starts one that lets everything pass, until the test sets `judge`. It ends with the test. */
export async function startRpcProxy(target: string): Promise<RpcProxy> {
  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const body = Buffer.concat(chunks).toString();
    const call: RpcCall = { params: [], ...(JSON.parse(body) as Omit<RpcCall, "params">) };
    proxy.calls.push(call);
    const verdict = await proxy.judge(call);
    if (verdict === "hang") return;
    if (verdict === "cut") return void request.socket.destroy();
    response.setHeader("content-type", "application/json");
    if (typeof verdict === "object" && !("params" in verdict))
      return void response.end(
        "text" in verdict ? verdict.text : JSON.stringify({ jsonrpc: "2.0", id: call.id, ...verdict }),
      );
    const passed = verdict === "pass" ? body : JSON.stringify({ ...call, ...verdict });
    const headers = { "content-type": "application/json" };
    const reply = await fetch(target, { method: "POST", headers, body: passed });
    response.end(await reply.text());
  };
  const server = createServer((request, response) => {
    // The chain behind it may end first, with the test.
    answer(request, response).catch(() => response.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  const proxy: RpcProxy = { url: `http://127.0.0.1:${port}`, calls: [], judge: () => "pass" };
  return proxy;
}
