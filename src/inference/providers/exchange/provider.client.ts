import type { lookup } from "node:dns";
import QuickLru from "quick-lru";
import { buildConnector, Pool } from "undici";
import { publicConnector } from "../../../kernel/address-guard.ts";
import type { Hex } from "../../../kernel/text/hex.ts";
import { endpointOf, type Provider } from "../provider.ts";
import type { ExchangeHasher } from "./exchange-hasher.ts";
import { DispatchedExchange, type ProviderExchange, type ProviderListener } from "./provider-exchange.ts";
import { SecretMask, spellingsOf } from "./secret-mask.ts";
import { TlsKeys } from "./tls-keys.ts";

/** Per-exchange options. */
export type PostOptions = {
  /** Content type of the body. Defaults to `application/json`. */
  readonly contentType?: string | undefined;
  /** Our headers for the provider; no client header is forwarded. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly totalMs?: number | undefined;
  /** Deadline for the head of the answer; 0 means only `totalMs` applies. */
  readonly firstByteMs?: number | undefined;
  /** Maximum silence between two chunks; 0 if the caller monitors it. */
  readonly silenceMs?: number | undefined;
  /** Hashes the bodies of this exchange, and of no other. */
  readonly hasher?: ExchangeHasher | undefined;
};

/** Deadlines of an exchange, milliseconds (promises P8). */
type ProviderDeadlines = {
  readonly connectMs: number;
  readonly firstByteMs: number;
  readonly silenceMs: number;
  readonly totalMs: number;
};

/** The router's credentials for providers. `forget` drops one that its provider rejected. */
type Credentials = { secretFor(provider: Provider): Promise<string>; forget(provider: Hex): void };

type Dependencies = {
  readonly credentials: Credentials;
  readonly deadlines: ProviderDeadlines;
  readonly connections: number;
  /** Whether on-chain providers may have private addresses, as on the development network. */
  readonly allowsPrivate: boolean;
  /** Resolves host names. Defaults to the system's resolver. */
  readonly resolve?: typeof lookup;
};

/** The parts of an endpoint's URL that are sent. */
type Target = { readonly origin: string; readonly path: string };

const MAX_HEADER_BYTES = 16_384;
/** A server that resumes a TLS session does not show its certificate again. */
const FULL_HANDSHAKES = { maxCachedSessions: 0 } as const;
const REMEMBERED_SECRETS = 1_000;
const REMEMBERED_ENDPOINTS = 1_000;

/**
 * The HTTP client for providers: one keep-alive pool per origin, undici's `dispatch` (half the cost of `request`, a
 * tenth of `fetch`), no redirects, and connections to public addresses only. No client header is forwarded, and only
 * the provider headers in `ProviderHead` are returned. The credential that was sent is masked in the response (promises
 * F28).
 */
export class ProviderClient {
  readonly #dependencies: Dependencies;
  readonly #pools = new Map<string, Pool>();
  readonly #tlsKeys = new TlsKeys();
  readonly #spellings = new QuickLru<string, readonly Buffer[]>({ maxSize: REMEMBERED_SECRETS });
  readonly #targets = new QuickLru<string, Target>({ maxSize: REMEMBERED_ENDPOINTS });

  constructor(dependencies: Dependencies) {
    this.#dependencies = dependencies;
  }

  /** Posts to the endpoint `path` of OpenAI's API, such as `/chat/completions`, at a provider. */
  async post(
    provider: Provider,
    path: `/${string}`,
    body: Buffer,
    listener: ProviderListener,
    options: PostOptions = {},
  ): Promise<ProviderExchange> {
    return this.#send("POST", provider, endpointOf(provider, path), listener, { ...options, body });
  }

  /** Reads the endpoint `path` of a provider, such as a job's. */
  async get(
    provider: Provider,
    path: `/${string}`,
    listener: ProviderListener,
    options: PostOptions = {},
  ): Promise<ProviderExchange> {
    return this.#send("GET", provider, endpointOf(provider, path), listener, options);
  }

  /** The hashes of the TLS keys that the open connections to a provider end at: see `TlsKeys`. */
  tlsKeysOf(provider: Provider): readonly string[] {
    return this.#tlsKeys.of(this.#targetOf(provider.url).origin);
  }

  async close(): Promise<void> {
    await Promise.all([...this.#pools.values()].map((pool) => pool.destroy()));
    this.#pools.clear();
  }

  async #send(
    method: "GET" | "POST",
    provider: Provider,
    endpoint: string,
    listener: ProviderListener,
    {
      body,
      contentType,
      headers,
      totalMs,
      firstByteMs,
      silenceMs,
      hasher,
    }: PostOptions & { readonly body?: Buffer },
  ): Promise<ProviderExchange> {
    const { credentials, deadlines } = this.#dependencies;
    const secret = await credentials.secretFor(provider);
    const { origin, path } = this.#targetOf(endpoint);
    hasher?.sent(body);
    const exchange = new DispatchedExchange(listener, {
      totalMs: totalMs ?? deadlines.totalMs,
      connectionMs: firstByteMs ?? deadlines.firstByteMs,
      mask: new SecretMask(this.#spellingsOf(secret)),
      hasher,
      providerUrl: provider.url,
      onRefused: () => credentials.forget(provider.address),
    });
    this.#poolOf(origin, this.#dependencies.allowsPrivate || provider.source === "file").dispatch(
      {
        method,
        path,
        headers: {
          ...headers,
          ...(secret !== "" && { authorization: `Bearer ${secret}` }),
          ...(body && { "content-type": contentType ?? "application/json" }),
          accept: "*/*",
        },
        body: body ?? null,
        ...(firstByteMs !== undefined && { headersTimeout: firstByteMs }),
        ...(silenceMs !== undefined && { bodyTimeout: silenceMs }),
      },
      exchange,
    );
    return exchange;
  }

  #spellingsOf(secret: string): readonly Buffer[] {
    const known = this.#spellings.get(secret);
    if (known) return known;
    const spellings = spellingsOf(secret);
    this.#spellings.set(secret, spellings);
    return spellings;
  }

  #targetOf(endpoint: string): Target {
    const known = this.#targets.get(endpoint);
    if (known) return known;
    const { origin, pathname, search } = new URL(endpoint);
    const target = { origin, path: pathname + search };
    this.#targets.set(endpoint, target);
    return target;
  }

  #poolOf(origin: string, allowsPrivate: boolean): Pool {
    const key = allowsPrivate ? `private ${origin}` : origin;
    const known = this.#pools.get(key);
    if (known) return known;
    const { connectMs, firstByteMs, silenceMs } = this.#dependencies.deadlines;
    const pool = new Pool(origin, {
      connections: this.#dependencies.connections,
      connect: this.#tlsKeys.observed(
        origin,
        allowsPrivate
          ? buildConnector({ timeout: connectMs, ...FULL_HANDSHAKES })
          : publicConnector(connectMs, this.#dependencies.resolve, FULL_HANDSHAKES),
      ),
      headersTimeout: firstByteMs,
      bodyTimeout: silenceMs,
      maxHeaderSize: MAX_HEADER_BYTES,
    });
    this.#pools.set(key, pool);
    return pool;
  }
}
