import type { App } from "../../app.ts";
import type { RpcParams } from "./rpc-params.ts";

/** A method. Its result is serialized as JSON, a `bigint` with all its digits. */
export type RpcMethod = (call: RpcCall) => Promise<unknown>;

/** One call. */
export type RpcCall = {
  readonly app: App;
  readonly params: RpcParams;
  /** The URL at which the client reaches this product. */
  readonly origin: string;
  /** Aborts when the client disconnects. */
  readonly signal: AbortSignal;
  /** Ensures that this much memory is reserved for the answer. Throws `overloaded`. */
  needMemory(bytes: number): void;
};

/** Methods by name. */
export type RpcMethods = Readonly<Record<string, RpcMethod>>;
