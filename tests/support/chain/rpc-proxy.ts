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
    const sent = JSON.parse(Buffer.concat(chunks).toString()) as RpcCall | readonly RpcCall[];
    const replies: string[] = [];
    for (const call of [sent].flat()) {
      const reply = await replyTo({ ...call, params: call.params ?? [] });
      if (reply === "hang") return;
      if (reply === "cut") return void request.socket.destroy();
      replies.push(reply);
    }
    response.setHeader("content-type", "application/json");
    // What is no answer of JSON-RPC takes the place of the whole batch.
    const garbage = replies.find((reply) => !reply.startsWith("{"));
    response.end(Array.isArray(sent) ? (garbage ?? `[${replies.join()}]`) : replies[0]);
  };
  const replyTo = async (call: RpcCall): Promise<string | "hang" | "cut"> => {
    proxy.calls.push(call);
    const verdict = await proxy.judge(call);
    if (verdict === "hang" || verdict === "cut") return verdict;
    if (typeof verdict === "object" && !("params" in verdict))
      return "text" in verdict ? verdict.text : JSON.stringify({ jsonrpc: "2.0", id: call.id, ...verdict });
    const passed = JSON.stringify({ jsonrpc: "2.0", ...call, ...(verdict === "pass" ? {} : verdict) });
    const headers = { "content-type": "application/json" };
    return (await fetch(target, { method: "POST", headers, body: passed })).text();
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
