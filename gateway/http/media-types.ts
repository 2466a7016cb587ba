/** The weight of a media type named in an `Accept` header, 0 to 1 (RFC 9110, 12.5.1). 0 if it is not listed. */
export function weightOf(accept: string, type: string): number {
  const ranges = accept.toLowerCase().split(",").map(readRange);
  return ranges.find((range) => range.type === type)?.weight ?? 0;
}

function readRange(text: string): { readonly type: string; readonly weight: number } {
  const [type = "", ...parameters] = text.split(";").map((part) => part.trim());
  const weight = parameters.find((parameter) => parameter.startsWith("q="));
  return { type, weight: weight === undefined ? 1 : Number(weight.slice(2)) };
}
