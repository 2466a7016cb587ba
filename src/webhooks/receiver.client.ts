import type { lookup } from "node:dns";
import { buildConnector, Client, errors } from "undici";
import { ForbiddenAddress, publicConnector } from "../kernel/address-guard.ts";
import { retryAfterOf } from "../kernel/text/retry-after.ts";
import type { DeliveryFailure, DeliveryResult } from "./webhook.ts";

type Dependencies = {
  /** Whether receivers may have private addresses, as on the development network. */
  readonly allowsPrivate: boolean;
  /** Deadline for an attempt, from the connection to the head of the answer. */
  readonly timeoutMs: number;
  /** Resolves host names. Defaults to the system's resolver. */
  readonly resolve?: typeof lookup | undefined;
};

/** What is posted: JSON, and the headers of its signature. */
export type Delivery = { readonly headers: Readonly<Record<string, string>>; readonly body: string };

/** The outcome of an attempt, and the delay that the receiver requests. */
export type PostResult = DeliveryResult & { readonly retryAfterMs: number | undefined };

/** A connection to one receiver. Its deliveries must not overlap. */
export type ReceiverConnection = {
  /** Posts a delivery. Never rejects; it fails as `unreachable` when `signal` aborts. */
  post(delivery: Delivery, signal?: AbortSignal): Promise<PostResult>;
  close(): Promise<void>;
};

const MAX_HEADER_BYTES = 16_384;
/** More of an answer is not read, nor waited for: only its status matters. */
const MAX_ANSWER_BYTES = 4_096;
const MAX_ANSWER_MS = 1_000;

/**
 * The HTTP client for receivers of webhooks: a connection for each turn of deliveries, no redirects, and connections to
 * public addresses only (promises F23 to F25). Answers are discarded.
 */
export class ReceiverClient {
  readonly #dependencies: Dependencies;

  constructor(dependencies: Dependencies) {
    this.#dependencies = dependencies;
  }

  /** Opens a connection to the receiver at this URL, which is connected by its first delivery. */
  open(url: string): ReceiverConnection {
    const { origin, pathname, search } = new URL(url);
    const { allowsPrivate, timeoutMs, resolve } = this.#dependencies;
    const client = new Client(origin, {
      connect: allowsPrivate ? buildConnector({ timeout: timeoutMs }) : publicConnector(timeoutMs, resolve),
      headersTimeout: timeoutMs,
      bodyTimeout: timeoutMs,
      maxHeaderSize: MAX_HEADER_BYTES,
    });
    return {
      post: (delivery, signal) => this.#post(client, pathname + search, delivery, signal),
      close: () => client.destroy(),
    };
  }

  async #post(client: Client, path: string, delivery: Delivery, signal?: AbortSignal): Promise<PostResult> {
    const startedMs = performance.now();
    const deadline = AbortSignal.timeout(this.#dependencies.timeoutMs);
    const both = signal ? AbortSignal.any([deadline, signal]) : deadline;
    const durationMs = () => Math.round(performance.now() - startedMs);
    try {
      const { statusCode, headers, body } = await client.request({
        method: "POST",
        path,
        headers: {
          ...delivery.headers,
          "content-type": "application/json",
          "user-agent": "zerograph-webhooks",
        },
        body: delivery.body,
        signal: both,
      });
      // A receiver that sends a status has the event, however its answer ends.
      const answered = AbortSignal.any([both, AbortSignal.timeout(MAX_ANSWER_MS)]);
      await body.dump({ limit: MAX_ANSWER_BYTES, signal: answered }).catch(() => {});
      const one = (value: string | readonly string[] | undefined) =>
        typeof value === "string" ? value : value?.[0];
      return {
        status: statusCode,
        failure: failureOfStatus(statusCode),
        durationMs: durationMs(),
        retryAfterMs: retryAfterOf(one(headers["retry-after"]), one(headers.date)),
      };
    } catch (error) {
      const failure = deadline.aborted ? "timed_out" : failureOf(error);
      return { status: null, failure, durationMs: durationMs(), retryAfterMs: undefined };
    }
  }
}

function failureOfStatus(status: number): DeliveryFailure | null {
  if (status >= 200 && status < 300) return null;
  return status >= 300 && status < 400 ? "redirected" : "refused";
}

function failureOf(error: unknown): DeliveryFailure {
  if (error instanceof ForbiddenAddress) return "address_not_allowed";
  if (
    error instanceof errors.ConnectTimeoutError ||
    error instanceof errors.HeadersTimeoutError ||
    error instanceof errors.BodyTimeoutError
  )
    return "timed_out";
  if (error instanceof errors.HTTPParserError || error instanceof errors.HeadersOverflowError)
    return "malformed_answer";
  const { code = "", syscall } = error as NodeJS.ErrnoException;
  if (syscall === "getaddrinfo") return "name_not_resolved";
  return TLS_CODES.test(code) ? "tls_failed" : "unreachable";
}

/** Codes of Node's and OpenSSL's errors for a handshake that fails, or a certificate that is not trusted. */
const TLS_CODES = /^(?:EPROTO|ERR_TLS_.*|ERR_SSL_.*|.*_CERT(?:_.*)?|CERT_.*|UNABLE_TO_.*|HOSTNAME_MISMATCH)$/;
