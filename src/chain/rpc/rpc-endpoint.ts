import { type BaseError, HttpRequestError, http, RpcRequestError, TimeoutError } from "viem";
import { type Clock, systemClock } from "../../kernel/clock.ts";
import { AppError } from "../../kernel/errors.ts";
import type { Logger } from "../../kernel/log.ts";
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
  readonly #silence: SilenceWatch;
  #status: EndpointStatus = { state: "unchecked", chainId: undefined, checkedAt: undefined };
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

  /** Sends a call, after checking the chain id if due. Throws what viem throws, or a `chain_error`. */
  async request(call: RpcCall): Promise<unknown> {
    if (this.#status.state === "unreachable") await this.#verifySoon();
    else if (!this.isReady || this.#clock.monotonicMs() - this.#checkedMs >= CHECKED_FOR_MS)
      await this.verify();
    try {
      return await this.#silence.watch(this.#call(call));
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
      this.#lose(error);
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

/**
 * Tries the endpoints in configured order, the ready ones first, until one succeeds. A contract's revert is a result
 * and ends the loop. If every endpoint fails, an error response takes precedence over a connection failure: only an
 * error response shows the caller what to change. `confirm` throws for an endpoint whose response cannot be used.
 */
export async function requestWithFallback(
  endpoints: readonly RpcEndpoint[],
  call: RpcCall,
  confirm?: (endpoint: RpcEndpoint) => Promise<void>,
): Promise<unknown> {
  const ready = endpoints.filter(({ isReady }) => isReady);
  const others = endpoints.filter(({ isReady }) => !isReady);
  if (ready.length > 0) for (const endpoint of others) endpoint.recover();
  let worst: { readonly error: unknown; readonly weight: number } | undefined;
  for (const endpoint of [...ready, ...others]) {
    // Wait for an unreachable endpoint only if no other endpoint answers.
    if (worst?.weight === ANSWER && !endpoint.isReady) continue;
    try {
      const response = await endpoint.request(call);
      await confirm?.(endpoint);
      return response;
    } catch (error) {
      if (isRevert(error)) throw error;
      const weight = weightOf(error);
      if (!worst || weight > worst.weight) worst = { error, weight };
    }
  }
  throw worst?.error ?? new AppError("chain_error", "There is no RPC endpoint.");
}

/** The reason of a failure, for the log: viem's long message contains the URL, and a URL may contain a key. */
export function rpcReason(error: unknown): string {
  const cause = error instanceof AppError && error.cause ? error.cause : error;
  if (isViemError(cause)) return cause.details ? `${cause.name}: ${cause.details}` : cause.name;
  return cause instanceof Error ? cause.message : String(cause);
}

/** Whether viem threw the error, so that its causes can be walked. */
export function isViemError(error: unknown): error is BaseError {
  return error instanceof Error && "walk" in error;
}

const ANSWER = 3;
const LATE = 2;
const OUT_OF_REACH = 1;

function weightOf(error: unknown): number {
  if (!isOutage(error)) return ANSWER;
  return find(error, TimeoutError) ? LATE : OUT_OF_REACH;
}

/** Bad request, too large, rate limited: a chain id check would only add one more request. */
const REFUSALS: readonly (number | undefined)[] = [400, 413, 429];

/** Whether the connection failed, and not the call: a JSON-RPC error or an HTTP refusal is a response. */
function isOutage(error: unknown): boolean {
  if (find(error, RpcRequestError)) return false;
  const refused = find(error, HttpRequestError);
  return !refused || !REFUSALS.includes(refused.status);
}

function isRevert(error: unknown): boolean {
  const answer = find(error, RpcRequestError);
  return answer !== undefined && (answer.code === 3 || /\brevert/i.test(answer.details));
}

function find<T extends Error>(error: unknown, type: new (...args: never[]) => T): T | undefined {
  const found = isViemError(error) ? error.walk((cause) => cause instanceof type) : undefined;
  return found instanceof type ? found : undefined;
}

/** No retries here: the transport retries over all endpoints. */
function callerOf(url: string, defaultMs: number): (call: RpcCall, timeoutMs?: number) => Promise<unknown> {
  return (call, timeoutMs = defaultMs) => {
    const { request } = http(url, { timeout: timeoutMs, retryCount: 0 })({
      retryCount: 0,
      timeout: timeoutMs,
    });
    return request(call as Parameters<typeof request>[0]);
  };
}

/** An endpoint's URL often contains a key in its path, so only its host is shown. */
function hostOf(url: string): string {
  return URL.canParse(url) ? new URL(url).host : "not a URL";
}
