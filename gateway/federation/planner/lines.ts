import type { Readable } from "node:stream";

/**
 * Emits each line of a stream without its line feed. Node's `readline` also ends a line at U+2028 and U+2029, which
 * JSON contains as they are.
 */
export function readLines(input: Readable, onLine: (line: string) => void): void {
  let rest = "";
  input.setEncoding("utf8").on("data", (text: string) => {
    const lines = `${rest}${text}`.split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) onLine(line);
  });
}
