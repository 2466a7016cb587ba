import type { ErrorCode } from "../../kernel/errors.ts";

/** A control of provider routing: the end of its header's name, and its place in the `provider` object. */
type Control = { readonly header: string; readonly member?: string };

const PIN: Control = { header: "address", member: "address" };

/** The controls that failures are about. */
const CONTROLS: Partial<Record<ErrorCode, Control>> = {
  provider_not_found: PIN,
  provider_model_mismatch: PIN,
  pinned_provider_exceeds_max_price: PIN,
  no_provider_for_trust_mode: { header: "trust-mode", member: "trust_mode" },
  no_provider_with_evidence: { header: "evidence", member: "evidence" },
};
/** The controls that a failure names as a member of the body, although a header may have sent them. */
const NAMED: ReadonlyMap<string, Control> = new Map([
  // The fallback models of a request that may have none, which only a header can name there.
  ["models", { header: "fallback-models" }],
  ["provider.only", { header: "only", member: "only" }],
  ["provider.ignore", { header: "ignore", member: "ignore" }],
  ...["prompt", "completion", "image"].map(
    (kind) =>
      [
        `provider.max_price.${kind}`,
        { header: `max-price-usd-${kind}`, member: `max_price.${kind}` },
      ] as const,
  ),
]);

/** A longer body, which is not parsed here, is not searched for the member. */
const MAX_PARSED_BYTES = 65_536;

/** What a request sent; the body may be unparsed. */
export type Sent = { readonly body: unknown; readonly rawHeaders: readonly string[] };

/**
 * The name of the routing control that a failure is about, as the client sent it: a header, which takes precedence, or a
 * member of the body's `provider`. Undefined if there is none.
 */
export function routingFieldOf(
  { code, param }: { readonly code: ErrorCode; readonly param: string | null },
  { body, rawHeaders }: Sent,
): string | undefined {
  const control = param === null ? CONTROLS[code] : NAMED.get(param);
  if (!control) return undefined;
  const pattern = new RegExp(`^x-[a-z0-9]+-provider-${control.header}$`, "i");
  const header = rawHeaders.find((name, at) => at % 2 === 0 && pattern.test(name));
  if (header !== undefined) return header;
  if (control.member === undefined) return undefined;
  const field = `provider.${control.member}`;
  const sent = field.split(".").reduce((value, name) => Object(value)[name], fieldsOf(body));
  return sent == null ? undefined : field;
}

/** The fields of a body; undefined if it is long, or no JSON. */
function fieldsOf(body: unknown): unknown {
  if (!Buffer.isBuffer(body)) return body;
  if (body.length > MAX_PARSED_BYTES) return undefined;
  try {
    return JSON.parse(body.toString());
  } catch {
    return undefined;
  }
}
