import type { Readable } from "node:stream";

/**
 * Returns a function that takes the next piece of a text and returns the lines that end in it, without their line
 * feeds. Node's `readline` also ends a line at U+2028 and U+2029, which JSON contains as they are.
 */
export function createLineSplitter(): (text: string) => readonly string[] {
  let rest = "";
  return (text) => {
    const lines = `${rest}${text}`.split("\n");
    rest = lines.pop() ?? "";
    return lines;
  };
}

/** Emits each line of a stream. */
export function readLines(input: Readable, onLine: (line: string) => void): void {
  const split = createLineSplitter();
  input.setEncoding("utf8").on("data", (text: string) => {
    for (const line of split(text)) onLine(line);
  });
}
