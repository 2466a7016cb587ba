import type { Schema } from "./merge-schemas.ts";

const TEXT = "quiet river";
const MAX_TEXT = 100_000;
const NUMBER = 7;

const FORMATS: Readonly<Record<string, string>> = {
  "date-time": "2026-01-02T03:04:05Z",
  date: "2026-01-02",
  time: "03:04:05Z",
  duration: "P3D",
  email: "reader@example.com",
  "idn-email": "reader@example.com",
  hostname: "example.com",
  "idn-hostname": "example.com",
  ipv4: "192.0.2.1",
  ipv6: "2001:db8::1",
  cidrv4: "192.0.2.0/24",
  cidrv6: "2001:db8::/32",
  uri: "https://example.com/river",
  iri: "https://example.com/river",
  url: "https://example.com/river",
  "uri-reference": "/river",
  uuid: "3f2b8a1e-5c4d-4e6f-8a9b-0c1d2e3f4a5b",
  "json-pointer": "/river",
  regex: "river",
  "json-string": '"river"',
  e164: "+12025550123",
};
/** What `contentEncoding` or `format` say of texts that hold bytes. */
const ENCODINGS: ReadonlySet<unknown> = new Set(["base64", "base64url", "byte", "binary"]);

/**
 * A text of the format and the length of a schema; undefined if there is none. The `nth` text of a schema without a
 * format differs from the others.
 */
export function sampleText(
  { format, contentEncoding, minLength, maxLength }: Schema,
  nth: number,
): string | undefined {
  const least = typeof minLength === "number" ? minLength : 0;
  const most = typeof maxLength === "number" ? maxLength : Number.POSITIVE_INFINITY;
  if (least > most || least > MAX_TEXT) return undefined;
  if (ENCODINGS.has(contentEncoding) || ENCODINGS.has(format))
    return "cml2ZXIh".padEnd(Math.ceil(least / 4) * 4, "cml2");
  if (typeof format === "string" && Object.hasOwn(FORMATS, format)) return FORMATS[format];
  const text = nth === 0 ? TEXT : `${nth} ${TEXT}`;
  return text.padEnd(least, ` ${TEXT}`).slice(0, most);
}

/** A number within the bounds of a schema, 7 if it is; undefined if there is none. The `nth` is greater by `nth` steps. */
export function sampleNumber(schema: Schema, kind: "number" | "integer", nth: number): number | undefined {
  const { minimum, exclusiveMinimum, maximum, exclusiveMaximum, multipleOf } = schema;
  const given = (bound: unknown, otherwise: number) => (typeof bound === "number" ? bound : otherwise);
  const isAllowed = (value: number) =>
    value >= given(minimum, Number.NEGATIVE_INFINITY) &&
    value > given(exclusiveMinimum, Number.NEGATIVE_INFINITY) &&
    value <= given(maximum, Number.POSITIVE_INFINITY) &&
    value < given(exclusiveMaximum, Number.POSITIVE_INFINITY);
  const low = Math.max(
    given(minimum, Number.NEGATIVE_INFINITY),
    given(exclusiveMinimum, Number.NEGATIVE_INFINITY),
  );
  const high = Math.min(
    given(maximum, Number.POSITIVE_INFINITY),
    given(exclusiveMaximum, Number.POSITIVE_INFINITY),
  );
  const isWhole = kind === "integer";
  const multiple = typeof multipleOf === "number" && multipleOf > 0 ? multipleOf : undefined;
  const step = multiple === undefined || (isWhole && multiple < 1) ? 1 : multiple;
  const isStepped = isWhole || multiple !== undefined;
  const onStep = (value: number) => (isStepped ? Math.ceil(value / step) * step : value);
  const first = onStep(Math.min(Math.max(NUMBER, low), high));
  const candidates = [first, first + step, first - step, ...(isStepped ? [] : [(low + high) / 2])];
  const start = candidates.find((value) => Number.isFinite(value) && isAllowed(value));
  if (start === undefined) return undefined;
  const later = start + nth * step;
  return isAllowed(later) ? later : start;
}
