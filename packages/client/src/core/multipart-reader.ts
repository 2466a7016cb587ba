/** A text that is longer without an end is not a stream of results. */
export const MAX_PART_CHARACTERS = 16 * 1_048_576;

/**
 * A reader for the text of one multipart response with this content type, which passes on the JSON of each part. It
 * returns true once the response has ended.
 */
export function multipartReader(
  contentType: string,
  onPart: (part: unknown) => void,
): (text: string) => boolean {
  const [, quoted, plain] = /boundary=(?:"([^"]+)"|([^;\s]+))/i.exec(contentType) ?? [];
  const delimiter = `\r\n--${quoted ?? plain ?? "-"}`;
  // The line break before the first delimiter may be left out (RFC 2046, section 5.1.1).
  let rest = "\r\n";
  let searched = 0;
  return (text) => {
    rest += text;
    for (;;) {
      const at = rest.indexOf(delimiter, searched);
      if (at < 0) break;
      const content = contentOf(rest.slice(0, at));
      rest = rest.slice(at + delimiter.length);
      searched = 0;
      if (content !== undefined) onPart(JSON.parse(content));
    }
    // The end of the delimiter may still come.
    searched = Math.max(0, rest.length - delimiter.length);
    if (rest.length > MAX_PART_CHARACTERS) throw new Error("a part is too long");
    return rest.startsWith("--");
  };
}

/** What follows the headers of a part. */
function contentOf(part: string): string | undefined {
  const at = part.indexOf("\r\n\r\n");
  return at < 0 ? undefined : part.slice(at + 4);
}
