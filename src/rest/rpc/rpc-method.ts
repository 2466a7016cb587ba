import type { App } from "../../app.ts";
import type { RpcParams } from "./rpc-params.ts";

/** A method: what it answers is written as JSON, a `bigint` with all its digits. */
export type RpcMethod = (call: RpcCall) => Promise<unknown>;

/** One call. `origin` is where the client reaches this product. */
export type RpcCall = { readonly app: App; readonly params: RpcParams; readonly origin: string };

/** Methods by their names. */
export type RpcMethods = Readonly<Record<string, RpcMethod>>;
