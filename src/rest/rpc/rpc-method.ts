import type { App } from "../../app.ts";
import type { RpcParams } from "./rpc-params.ts";

/** A method: what it answers is written as JSON, a `bigint` with all its digits. */
export type RpcMethod = (call: RpcCall) => Promise<unknown>;

/** One call. */
export type RpcCall = {
  readonly app: App;
  readonly params: RpcParams;
  /** Where the client reaches this product. */
  readonly origin: string;
  /** Aborts when the client leaves. */
  readonly signal: AbortSignal;
  /** Sees to it that this much memory is reserved for the answer. Throws `overloaded`. */
  needMemory(bytes: number): void;
};

/** Methods by their names. */
export type RpcMethods = Readonly<Record<string, RpcMethod>>;
