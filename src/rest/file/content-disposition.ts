const MAX_NAME_LENGTH = 255;

/** Some browsers decode such a sequence in a plain name (RFC 6266, appendix D). */
const ESCAPED = /%(?=[0-9a-f]{2})/gi;

/**
 * `Content-Disposition` of a download (RFC 6266): a plain name if every browser reads it as it is, else the name in UTF-8
 * (RFC 5987) beside an ASCII fallback. The name is never a path: control characters are removed, and slashes become `_`.
 */
export function attachment(name: string, fallback: string): string {
  const clean = cleanName(name) || fallback;
  const readable = clean.replace(/[^\x20-\x7e]/g, "_").replace(ESCAPED, "_");
  const plain = readable.replace(/["\\]/g, "\\$&");
  if (readable === clean) return `attachment; filename="${plain}"`;
  return `attachment; filename="${plain}"; filename*=UTF-8''${encodeName(clean)}`;
}

function cleanName(name: string): string {
  const named = name
    .toWellFormed()
    .replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, "")
    .replace(/[/\\]/g, "_")
    .trim();
  return [...named].slice(0, MAX_NAME_LENGTH).join("");
}

/** `encodeURIComponent` does not encode some characters that RFC 5987 requires encoded. */
function encodeName(name: string): string {
  return encodeURIComponent(name).replace(
    /['()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}
