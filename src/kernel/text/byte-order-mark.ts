/** The byte order mark of UTF-8, which JSON may not begin with (RFC 8259, 8.1). */
export const BYTE_ORDER_MARK = Buffer.from([0xef, 0xbb, 0xbf]);

/** Whether a text begins with it. */
export function hasByteOrderMark(bytes: Buffer): boolean {
  return bytes.subarray(0, BYTE_ORDER_MARK.length).equals(BYTE_ORDER_MARK);
}
