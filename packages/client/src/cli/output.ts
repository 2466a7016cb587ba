import type { Invocation } from "./command.ts";

/** Control characters but tab and newline: C0, DEL and C1. A terminal would obey them. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what it removes.
const CONTROLS = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g;

type Terminal = { readonly isTTY?: boolean };

/** Text of a server as it may be shown: on a terminal without control characters. */
export function printable(text: string, { isTTY }: Terminal): string {
  return isTTY ? text.replaceAll(CONTROLS, "") : text;
}

/**
 * Writes the results of a command to standard output. If that fails, the process ends: quietly and with status 0 if its
 * reader has left (as `head` does), else with 1, the reason, and what the last result said about its loss.
 */
export function createOutput(isJson: boolean): Pick<Invocation, "print" | "write"> {
  let whenLost: string | undefined;
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    const hasReaderLeft = error.code === "EPIPE";
    const message = [
      ...(hasReaderLeft ? [] : [`Standard output cannot be written: ${error.message}.`]),
      ...(whenLost === undefined ? [] : [whenLost]),
    ].join(" ");
    if (message !== "")
      console.error(isJson ? JSON.stringify({ error: { code: "file_error", message } }) : message);
    process.exit(message === "" ? 0 : 1);
  });
  const write = (text: string) => void process.stdout.write(printable(text, process.stdout));
  return {
    write,
    print(data, text, ifLost) {
      whenLost = ifLost;
      write(`${isJson ? JSON.stringify(data) : text()}\n`);
    },
  };
}
