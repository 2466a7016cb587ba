import { HttpRequestError, http, RpcRequestError } from "viem";
import { getHttpRpcClient } from "viem/utils";
import { type Clock, systemClock } from "../../kernel/clock.ts";
import { AppError } from "../../kernel/errors.ts";
import type { Logger } from "../../kernel/log.ts";
import { isOutage, rpcReason } from "./rpc-errors.ts";
import { SilenceWatch } from "./silence-watch.ts";

/**
 * The state of an endpoint. `unchecked`: not requested yet. `ready`: it answers with the expected chain id.
 * `unreachable`: the last attempt failed. `wrong_chain`: it serves another chain, so only its chain id is read.
 */
export type EndpointState = "unchecked" | "ready" | "unreachable" | "wrong_chain";

/** An endpoint's status, without its URL, which may contain a key. */
export type EndpointStatus = {
  readonly state: EndpointState;
  /** The chain id last reported, undefined before the first response. */
  readonly chainId: number | undefined;
  readonly checkedAt: Date | undefined;
};

/** A JSON-RPC call. */
export type RpcCall = { readonly method: string; readonly params?: unknown };

type Options = {
  readonly url: string;
  readonly chainId: number;
  /** The value of `NETWORK`, for messages to the operator. */
  readonly network: string;
  readonly timeoutMs: number;
  readonly log: Logger;
  readonly clock?: Clock;
};

const CHECKED_FOR_MS = 60_000;
const FIRST_BACKOFF_MS = 1_000;
const MAX_BACKOFF_MS = 30_000;
/** How long a call waits for an endpoint whose last request failed. */
const UNREACHABLE_WAIT_MS = 500;
/** Timeout of the first chain id check of such an endpoint; it doubles, in case the endpoint has become slow. */
const RECHECK_MS = 2_000;
/** How long an endpoint may take for its chain id while a call waits for it: this, or twice as long as the last time. */
const PROBE_MS = 2_000;
const CHAIN_ID: RpcCall = { method: "eth_chainId" };

/**
 * One RPC endpoint. Its calls fail within seconds when it stops answering (`SilenceWatch`). Its chain id is checked
 * before the first call, after every connection failure, and once a minute, because another chain may have moved behind
 * the URL. While the chain id is wrong, no call is sent.
 */
export class RpcEndpoint {
  readonly host: string;
  readonly #options: Options;
  readonly #clock: Clock;
  readonly #call: (call: RpcCall, timeoutMs?: number) => Promise<unknown>;
  readonly #callBatch: (calls: readonly RpcCall[]) => Promise<readonly unknown[] | undefined>;
  readonly #silence: SilenceWatch;
  #status: EndpointStatus = { state: "unchecked", chainId: undefined, checkedAt: undefined };
  #behindUntilMs = Number.NEGATIVE_INFINITY;
  #checkedMs = 0;
  #retryAtMs = 0;
  #backoffMs = FIRST_BACKOFF_MS;
  #recheckMs = RECHECK_MS;
  /** How long the chain id took the last time that it was read. */
  #chainIdMs = 0;
  #checking: { readonly done: Promise<void>; readonly sinceMs: number } | undefined;

  constructor(options: Options) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.host = hostOf(options.url);
    this.#call = callerOf(options.url, options.timeoutMs);
    this.#callBatch = batchCallerOf(options.url, options.timeoutMs);
    this.#silence = new SilenceWatch({
      probe: () => this.#probe(),
      patienceMs: () => Math.max(PROBE_MS, 2 * this.#chainIdMs),
    });
  }

  status(): EndpointStatus {
    return this.#status;
  }

  get isReady(): boolean {
    return this.#status.state === "ready";
  }

  /** Whether another endpoint had newer blocks lately, while those of this one were old. */
  get isBehind(): boolean {
    return this.#clock.monotonicMs() < this.#behindUntilMs;
  }

  /** Tries the other endpoints first for `forMs`. `byBlocks` is the number of blocks that this one lacks. */
  postpone(forMs: number, byBlocks: bigint): void {
    const now = this.#clock.monotonicMs();
    const isNews = now - this.#behindUntilMs > forMs;
    this.#behindUntilMs = now + forMs;
    const fields = { host: this.host, blocks: byBlocks.toString() };
    if (isNews) this.#options.log.warn(fields, "an RPC endpoint lacks new blocks: others are used instead");
  }

  /** Sends a call, after checking the chain id if due. Throws what viem throws, or a `chain_error`. */
  request(call: RpcCall): Promise<unknown> {
    return this.#send(() => this.#call(call));
  }

  /**
   * Sends calls as one batch, so that one backend of a balanced endpoint answers all of them; one after the other if
   * the endpoint does not take a batch. Throws like `request`.
   */
  async requestTogether(calls: readonly RpcCall[]): Promise<readonly unknown[]> {
    const answers = await this.#send(() => this.#callBatch(calls));
    if (answers) return answers;
    const results: unknown[] = [];
    for (const call of calls) results.push(await this.request(call));
    return results;
  }

  /** Sends something, after checking the chain id if due. */
  async #send<T>(send: () => Promise<T>): Promise<T> {
    if (this.#status.state === "unreachable") await this.#verifySoon();
    else if (!this.isReady || this.#clock.monotonicMs() - this.#checkedMs >= CHECKED_FOR_MS)
      await this.verify();
    try {
      return await this.#silence.watch(send());
    } catch (error) {
      // Of many calls that fail together, the first one decides when the endpoint is checked again.
      if (isOutage(error) && this.#status.state !== "unreachable") this.#lose(error);
      throw error;
    }
  }

  /** Checks the chain id; concurrent callers share one check. Throws unless the endpoint is `ready` afterwards. */
  verify(): Promise<void> {
    this.#checking ??= {
      done: this.#verify().finally(() => {
        this.#checking = undefined;
      }),
      sinceMs: performance.now(),
    };
    return this.#checking.done;
  }

  /** Like `verify`, but callers wait only briefly for a hanging endpoint; the check continues without them. */
  async #verifySoon(): Promise<void> {
    const done = this.verify();
    const leftMs = UNREACHABLE_WAIT_MS - (performance.now() - (this.#checking?.sinceMs ?? 0));
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_, reject) => {
      const giveUp = () => reject(new AppError("chain_error", "The chain's RPC does not answer."));
      if (leftMs > 0) timer = setTimeout(giveUp, leftMs);
      else giveUp();
    });
    try {
      await Promise.race([done, late]);
    } finally {
      clearTimeout(timer);
      done.catch(() => {});
    }
  }

  /** Checks in the background whether the endpoint is back, unless its backoff still runs. */
  recover(): void {
    if (this.#clock.monotonicMs() >= this.#retryAtMs) this.verify().catch(() => {});
  }

  async #verify(): Promise<void> {
    const { chainId: expected, network } = this.#options;
    const sinceMs = performance.now();
    let answer: unknown;
    try {
      answer = await this.#readChainId();
    } catch (error) {
      // A refusal, as by a rate limit, is an answer: it does not show that the endpoint is gone.
      if (!this.isReady || isOutage(error)) this.#lose(error);
      throw error;
    }
    const chainId =
      typeof answer === "string" && /^0x[0-9a-f]{1,13}$/i.test(answer) ? Number(answer) : undefined;
    this.#checkedMs = this.#clock.monotonicMs();
    this.#chainIdMs = performance.now() - sinceMs;
    if (chainId === expected) return this.#enter("ready", chainId);
    this.#backOff();
    if (chainId === undefined) {
      this.#enter("unreachable", undefined, "its chain id is not a number");
      throw new AppError("chain_error", `RPC_URL returned an invalid chain id (${this.host}).`);
    }
    const reason = `RPC_URL has chain id ${chainId}, but NETWORK=${network} has ${expected} (${this.host}).`;
    this.#enter("wrong_chain", chainId, reason);
    throw new AppError("chain_error", reason);
  }

  /** A hang is noticed at once only if the endpoint answered before: at a start it may be slow. */
  #readChainId(): Promise<unknown> {
    const { timeoutMs } = this.#options;
    if (this.isReady) return this.#silence.watch(this.#call(CHAIN_ID));
    if (this.#status.state !== "unreachable") return this.#call(CHAIN_ID);
    const recheckMs = Math.min(timeoutMs, this.#recheckMs);
    this.#recheckMs = Math.min(this.#recheckMs * 2, timeoutMs);
    return this.#call(CHAIN_ID, recheckMs);
  }

  /** Any response shows that the endpoint works, also a refusal, and how slow it is now. */
  async #probe(): Promise<void> {
    const sinceMs = performance.now();
    try {
      await this.#call(CHAIN_ID);
    } catch (error) {
      if (isOutage(error)) throw error;
    }
    this.#chainIdMs = performance.now() - sinceMs;
  }

  #lose(error: unknown): void {
    this.#backOff();
    this.#enter("unreachable", this.#status.chainId, rpcReason(error));
  }

  /** Exponential: checking an endpoint that stays down costs little. */
  #backOff(): void {
    this.#retryAtMs = this.#clock.monotonicMs() + this.#backoffMs;
    this.#backoffMs = Math.min(this.#backoffMs * 2, MAX_BACKOFF_MS);
  }

  #enter(state: EndpointState, chainId: number | undefined, reason?: string): void {
    const before = this.#status.state;
    this.#status = { state, chainId, checkedAt: this.#clock.now() };
    if (state === "ready") [this.#backoffMs, this.#recheckMs] = [FIRST_BACKOFF_MS, RECHECK_MS];
    if (state === before) return;
    const { log } = this.#options;
    const fields = { host: this.host, reason };
    if (state === "wrong_chain") log.error(fields, "an RPC endpoint serves another chain and is not used");
    else if (state === "unreachable") log.warn(fields, "an RPC endpoint does not answer");
    else if (before !== "unchecked") log.info(fields, "an RPC endpoint answers again");
  }
}

/** No retries here: the transport retries over all endpoints. */
function callerOf(url: string, defaultMs: number): (call: RpcCall, timeoutMs?: number) => Promise<unknown> {
  return (call, timeoutMs = defaultMs) => {
    const { request } = http(url, { timeout: timeoutMs, retryCount: 0, fetchFn: fetchKeepingStatus })({
      retryCount: 0,
      timeout: timeoutMs,
    });
    return request(call as Parameters<typeof request>[0]);
  };
}

/**
 * viem loses the status of a refusal whose body is not the JSON that its content type announces, as an empty one: then
 * the endpoint seems not to answer.
 */
async function fetchKeepingStatus(...call: Parameters<typeof fetch>): Promise<Response> {
  const response = await fetch(...call);
  if (response.ok) return response;
  const { status, statusText } = response;
  const headers = new Headers(response.headers);
  headers.delete("content-type");
  return new Response(response.body, { status, statusText, headers });
}

type BatchAnswer = { readonly id?: unknown; readonly result?: unknown; readonly error?: RpcFault };
type RpcFault = { readonly code: number; readonly message: string };

/** The result of each call of a batch; undefined if the endpoint did not answer each of them, so does not take one. */
function batchCallerOf(
  url: string,
  timeout: number,
): (calls: readonly RpcCall[]) => Promise<readonly unknown[] | undefined> {
  const { request } = getHttpRpcClient(url, { timeout, fetchFn: fetchKeepingStatus });
  return async (calls) => {
    const body = calls.map((call, id) => ({ ...call, id }));
    const answer: unknown = await request({ body }).catch((error: unknown) => {
      if (error instanceof HttpRequestError && NO_BATCH.includes(error.status)) return undefined;
      throw error;
    });
    const answers: readonly BatchAnswer[] = Array.isArray(answer) ? answer.map(Object) : [];
    const found = body.map(({ id }) => answers.find((one) => one.id === id));
    if (!found.every((one) => one !== undefined)) return undefined;
    return found.map(({ error, result }, at) => {
      if (error) throw new RpcRequestError({ body: { ...calls[at] }, error, url });
      return result;
    });
  };
}

/** An endpoint that takes no batch may refuse it as a bad, an unknown or a too large request. */
const NO_BATCH: readonly (number | undefined)[] = [400, 404, 405, 413, 415, 422, 501];

/** An endpoint's URL often contains a key in its path, so only its host is shown. */
function hostOf(url: string): string {
  return URL.canParse(url) ? new URL(url).host : "not a URL";
}
