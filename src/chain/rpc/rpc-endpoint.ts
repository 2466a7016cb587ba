import { type BaseError, HttpRequestError, http, RpcRequestError, TimeoutError } from "viem";
import { type Clock, systemClock } from "../../kernel/clock.ts";
import { AppError } from "../../kernel/errors.ts";
import type { Logger } from "../../kernel/log.ts";

/**
 * What is known of an endpoint. `unchecked`: not requested yet. `ready`: it answers, and with our chain id.
 * `unreachable`: the last try failed. `wrong_chain`: it is of another chain, and nothing but its chain id is read.
 */
export type EndpointState = "unchecked" | "ready" | "unreachable" | "wrong_chain";

/** How an endpoint fares, without its URL, which may carry a key. */
export type EndpointStatus = {
  readonly state: EndpointState;
  /** The chain id that it last told, undefined before the first answer. */
  readonly chainId: number | undefined;
  readonly checkedAt: Date | undefined;
};

/** A JSON-RPC call. */
export type RpcCall = { readonly method: string; readonly params?: unknown };

type Options = {
  readonly url: string;
  readonly chainId: number;
  /** As `NETWORK` names it, for what is said to the operator. */
  readonly network: string;
  readonly timeoutMs: number;
  readonly log: Logger;
  readonly clock?: Clock;
};

const CHECKED_FOR_MS = 60_000;
const FIRST_REST_MS = 1_000;
const MAX_REST_MS = 30_000;
/** How long a call waits for an endpoint that was out of reach when it was last asked. */
const PATIENCE_MS = 500;
/** How long such an endpoint may take to tell its chain id, before it is asked anew. */
const RECHECK_MS = 2_000;

/**
 * One RPC endpoint. Its chain id is asked before the first call, again after every failure of the line, and once a
 * minute: what answers now need not be what answered before. While the id is not ours, no call gets through.
 */
export class RpcEndpoint {
  readonly host: string;
  readonly #options: Options;
  readonly #clock: Clock;
  readonly #call: (call: RpcCall) => Promise<unknown>;
  readonly #callAgain: (call: RpcCall) => Promise<unknown>;
  #status: EndpointStatus = { state: "unchecked", chainId: undefined, checkedAt: undefined };
  #checkedMs = 0;
  #restsUntilMs = 0;
  #restMs = FIRST_REST_MS;
  #checking: { readonly done: Promise<void>; readonly sinceMs: number } | undefined;

  constructor(options: Options) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.host = hostOf(options.url);
    this.#call = callerOf(options.url, options.timeoutMs);
    this.#callAgain = callerOf(options.url, Math.min(options.timeoutMs, RECHECK_MS));
  }

  status(): EndpointStatus {
    return this.#status;
  }

  get isReady(): boolean {
    return this.#status.state === "ready";
  }

  /** Sends a call, after a look at the chain id where one is due. Throws what viem throws, or a `chain_error`. */
  async request(call: RpcCall): Promise<unknown> {
    if (this.#status.state === "unreachable") await this.#verifySoon();
    else if (!this.isReady || this.#clock.monotonicMs() - this.#checkedMs >= CHECKED_FOR_MS)
      await this.verify();
    try {
      return await this.#call(call);
    } catch (error) {
      if (isOutage(error)) this.#lose(error);
      throw error;
    }
  }

  /** Asks for the chain id; whoever wants to know meanwhile shares the answer. Throws when it is not ready then. */
  verify(): Promise<void> {
    this.#checking ??= {
      done: this.#verify().finally(() => {
        this.#checking = undefined;
      }),
      sinceMs: performance.now(),
    };
    return this.#checking.done;
  }

  /** The same, but callers wait only briefly for an endpoint that hangs: the check goes on without them. */
  async #verifySoon(): Promise<void> {
    const done = this.verify();
    const leftMs = PATIENCE_MS - (performance.now() - (this.#checking?.sinceMs ?? 0));
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_, reject) => {
      const give = () => reject(new AppError("chain_error", "The chain's RPC does not answer."));
      if (leftMs > 0) timer = setTimeout(give, leftMs);
      else give();
    });
    try {
      await Promise.race([done, late]);
    } finally {
      clearTimeout(timer);
      done.catch(() => {});
    }
  }

  /** Looks in the background whether it is back, unless it failed a moment ago. */
  recover(): void {
    if (this.#clock.monotonicMs() >= this.#restsUntilMs) this.verify().catch(() => {});
  }

  async #verify(): Promise<void> {
    const { chainId: wanted, network } = this.#options;
    const ask = this.#status.state === "unreachable" ? this.#callAgain : this.#call;
    let answer: unknown;
    try {
      answer = await ask({ method: "eth_chainId" });
    } catch (error) {
      this.#lose(error);
      throw error;
    }
    const chainId =
      typeof answer === "string" && /^0x[0-9a-f]{1,13}$/i.test(answer) ? Number(answer) : undefined;
    this.#checkedMs = this.#clock.monotonicMs();
    if (chainId === wanted) return this.#enter("ready", chainId);
    this.#rest();
    if (chainId === undefined) {
      this.#enter("unreachable", undefined, "its chain id is no number");
      throw new AppError("chain_error", `RPC_URL answers a chain id that is none (${this.host}).`);
    }
    const said = `RPC_URL answers chain id ${chainId}, NETWORK=${network} is ${wanted} (${this.host}).`;
    this.#enter("wrong_chain", chainId, said);
    throw new AppError("chain_error", said);
  }

  #lose(error: unknown): void {
    this.#rest();
    this.#enter("unreachable", this.#status.chainId, rpcReason(error));
  }

  /** Doubles, so that an endpoint that is gone for long costs little. */
  #rest(): void {
    this.#restsUntilMs = this.#clock.monotonicMs() + this.#restMs;
    this.#restMs = Math.min(this.#restMs * 2, MAX_REST_MS);
  }

  #enter(state: EndpointState, chainId: number | undefined, reason?: string): void {
    const before = this.#status.state;
    this.#status = { state, chainId, checkedAt: this.#clock.now() };
    if (state === "ready") this.#restMs = FIRST_REST_MS;
    if (state === before) return;
    const { log } = this.#options;
    const line = { host: this.host, reason };
    if (state === "wrong_chain") log.error(line, "an RPC endpoint is of another chain, and is not read");
    else if (state === "unreachable") log.warn(line, "an RPC endpoint does not answer");
    else if (before !== "unchecked") log.info(line, "an RPC endpoint answers again");
  }
}

/**
 * Asks the endpoints in their order, the ready ones first; the next one when one fails. A contract's own refusal is an
 * answer. When none helps, what was answered is thrown rather than that another one is out of reach: only an answer
 * tells the caller what to change.
 */
export async function askInTurn(endpoints: readonly RpcEndpoint[], call: RpcCall): Promise<unknown> {
  const ready = endpoints.filter(({ isReady }) => isReady);
  const others = endpoints.filter(({ isReady }) => !isReady);
  if (ready.length > 0) for (const endpoint of others) endpoint.recover();
  let worst: { readonly error: unknown; readonly weight: number } | undefined;
  for (const endpoint of [...ready, ...others]) {
    // An unreachable endpoint is waited for only when no other answers.
    if (worst?.weight === ANSWER && !endpoint.isReady) continue;
    try {
      return await endpoint.request(call);
    } catch (error) {
      if (isRevert(error)) throw error;
      const weight = weightOf(error);
      if (!worst || weight > worst.weight) worst = { error, weight };
    }
  }
  throw worst?.error ?? new AppError("chain_error", "There is no RPC endpoint.");
}

/** What went wrong, for the log: viem's own long text names the URL, and a URL may carry a key. */
export function rpcReason(error: unknown): string {
  const cause = error instanceof AppError && error.cause ? error.cause : error;
  if (isViemError(cause)) return cause.details ? `${cause.name}: ${cause.details}` : cause.name;
  return cause instanceof Error ? cause.message : String(cause);
}

/** Whether viem threw it, so that its causes can be walked. */
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

/** Bad or too large, or one too many: to ask for the chain id then would only be one more. */
const REFUSALS: readonly (number | undefined)[] = [400, 413, 429];

/** Whether the line failed, and not the call: a JSON-RPC error is an answer, and so is a refusal by HTTP. */
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

/** Nothing is retried here: that is for all endpoints together. */
function callerOf(url: string, timeoutMs: number): (call: RpcCall) => Promise<unknown> {
  const { request } = http(url, { timeout: timeoutMs, retryCount: 0 })({ retryCount: 0, timeout: timeoutMs });
  return (call) => request(call as Parameters<typeof request>[0]);
}

/** An endpoint's URL often carries a key in its path, so only its host is ever said. */
function hostOf(url: string): string {
  return URL.canParse(url) ? new URL(url).host : "not a URL";
}
