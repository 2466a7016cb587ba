import { createWriteStream } from "node:fs";
import { rename, rm } from "node:fs/promises";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { failureOfNetwork } from "../core/failures.ts";
import type { Command, Invocation } from "./command.ts";
import { UsageError } from "./exit.ts";
import { send } from "./rest.ts";

const USAGE = "zerograph files get <root> [--out <file>] | put <file>";
const ROOT = /^0x[0-9a-fA-F]{64}$/;
/** A download continues as long as bytes arrive: Node closes a connection that is silent for five minutes. */
const DOWNLOAD_MS = 24 * 3_600_000;

/** `files`: downloads files by root, and submits and uploads them. */
export const command: Command = async (invocation) => {
  const [what, given, ...rest] = invocation.words;
  if (given === undefined || rest.length > 0) throw new UsageError(USAGE);
  if (what === "get") return get(given, invocation);
  if (what !== "put") throw new UsageError(USAGE);
  const { put } = await import("./put-file.ts");
  return put(given, invocation);
};

/** Downloads into a file next to the target first: an interrupted download leaves no partial file. */
async function get(root: string, { options, settings, print }: Invocation): Promise<number> {
  if (!ROOT.test(root)) throw new UsageError("The root of a file is 0x and 64 hexadecimal digits.");
  const path = options.out ?? root;
  const response = await send(`${settings.url}/file?root=${root}`, { timeoutMs: DOWNLOAD_MS });
  const partial = `${path}.part`;
  let sizeBytes = 0;
  const count = async function* (chunks: AsyncIterable<Uint8Array>) {
    for await (const chunk of chunks) {
      sizeBytes += chunk.length;
      yield chunk;
    }
  };
  try {
    // Node's type of a web stream is not the browser's, which `fetch` has here.
    await pipeline(Readable.fromWeb(response.body as never), count, createWriteStream(partial));
    await rename(partial, path);
  } catch (error) {
    await rm(partial, { force: true });
    if (error instanceof Error && "syscall" in error) throw error;
    throw failureOfNetwork(error).error;
  }
  print({ root, path, sizeBytes }, () => `${path}, ${sizeBytes} bytes`);
  return 0;
}
