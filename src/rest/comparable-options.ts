import { listTags, type Tags } from "../accounts/tags/tags.ts";

/** What a request with an `Idempotency-Key` states besides its body, as the route reads it. */
type Options = {
  readonly query: { readonly verify_tee?: unknown };
  readonly headers: unknown;
  /** The headers of a request that sends none. */
  readonly defaultHeaders: unknown;
  readonly tags: Tags | undefined;
  readonly cacheSeconds: number | undefined;
};

/**
 * The text by which the options of a repeated request are compared. Undefined for a request without any, so that
 * processes of an earlier version, which compare only bodies, recognize its repetitions. `X-Session-Id` is not compared:
 * it names the conversation, and a client that restarts may send another one.
 */
export function comparableOptions(sent: Options): string | undefined {
  const { query, cacheSeconds, tags } = sent;
  const headers = headersText(sent.headers);
  const options = {
    ...(query.verify_tee === "true" && { verify_tee: true }),
    ...(headers !== headersText(sent.defaultHeaders) && { headers }),
    ...(tags && { tags: listTags(tags) }),
    ...(cacheSeconds !== undefined && { cacheSeconds }),
  };
  return Object.keys(options).length === 0 ? undefined : JSON.stringify(options);
}

/** JSON of parsed headers, whose amounts are BigInt; without the members of these names. */
export function headersText(headers: unknown, left: readonly string[] = ["sessionId"]): string {
  return JSON.stringify(headers ?? null, (name, value) => {
    if (left.includes(name)) return undefined;
    return typeof value === "bigint" ? `${value}` : value;
  });
}
