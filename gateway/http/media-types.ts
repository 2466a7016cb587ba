/** The two media types of a GraphQL response over HTTP. */
export const GRAPHQL_TYPE = "application/graphql-response+json";
export const JSON_TYPE = "application/json";

type Range = {
  readonly type: string;
  /** Without its weight, in lower case. */
  readonly parameters: string;
  readonly weight: number;
};

/** The weight of a media type named in an `Accept` header, 0 to 1 (RFC 9110, 12.5.1). 0 if it is not listed. */
export function weightOf(accept: string, type: string): number {
  return readRanges(accept).find((range) => range.type === type)?.weight ?? 0;
}

/**
 * The media type of a GraphQL response that an `Accept` header prefers: the greater weight, then the one listed first,
 * as Apollo Server decides. Undefined for headers that need its full negotiation: neither type by its name, one with
 * parameters, or a preferred wildcard.
 */
export function graphTypeFor(accept: string | undefined): typeof GRAPHQL_TYPE | typeof JSON_TYPE | undefined {
  if (accept === undefined || accept === "*/*" || accept === JSON_TYPE) return JSON_TYPE;
  const ranges = readRanges(accept);
  const named = ranges.filter(({ type }) => type === GRAPHQL_TYPE || type === JSON_TYPE);
  const [preferred] = named.toSorted((a, b) => b.weight - a.weight);
  if (!preferred || preferred.weight === 0 || named.some(({ weight }) => Number.isNaN(weight)))
    return undefined;
  if (named.some(({ parameters }) => parameters !== preferred.parameters || !isUtf8(parameters)))
    return undefined;
  if (ranges.some(({ type, weight }) => type.endsWith("*") && weight > preferred.weight)) return undefined;
  return preferred.type === GRAPHQL_TYPE ? GRAPHQL_TYPE : JSON_TYPE;
}

function isUtf8(parameters: string): boolean {
  return parameters === "" || parameters === "charset=utf-8";
}

/** The media ranges of an `Accept` header, in lower case. */
export function readRanges(accept: string): readonly Range[] {
  return accept.toLowerCase().split(",").map(readRange);
}

function readRange(text: string): Range {
  const [type = "", ...parameters] = text.split(";").map((part) => part.trim());
  const weight = parameters.find((parameter) => parameter.startsWith("q="));
  return {
    type,
    parameters: parameters.filter((parameter) => parameter !== weight).join(";"),
    weight: weight === undefined ? 1 : Number(weight.slice(2)),
  };
}
