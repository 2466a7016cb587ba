import { randomUUID } from "node:crypto";
import { createWriteStream, realpathSync, renameSync, rmSync, statSync } from "node:fs";
import { Readable, type Writable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { ZerographError } from "../core/errors.ts";
import { failureOfNetwork } from "../core/failures.ts";
import { RootHasher } from "../files/file-tree.ts";
import type { Command, Invocation } from "./command.ts";
import { UsageError } from "./exit.ts";
import { send } from "./rest.ts";

const USAGE = "zerograph files get <root> [--out <file>] | put <file>";
const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;
const ROOT = /^0x[0-9a-fA-F]{64}$/;
/** A download continues as long as bytes arrive: Node closes a connection that is silent for five minutes. */
const DOWNLOAD_MS = 24 * 3_600_000;

/** `files`: downloads files by root, and submits and uploads them. */
export const command: Command = async (invocation) => {
  const [what, given, ...rest] = invocation.words;
  if (!given || rest.length > 0) throw new UsageError(USAGE);
  if (what === "get") return get(given, invocation);
  if (what !== "put") throw new UsageError(USAGE);
  const { put } = await import("./put-file.ts");
  return put(given, invocation);
};

/**
 * Downloads a file and verifies its root. A regular file is written next to its place first and then renamed, so that
 * neither an interrupted nor a wrong download replaces it; a pipe or a device is written itself.
 */
async function get(root: string, { options, settings, print }: Invocation): Promise<number> {
  if (!ROOT.test(root)) throw new UsageError("The root of a file is 0x and 64 hexadecimal digits.");
  const path = options.out ?? root;
  const place = placeOf(path);
  const response = await send(`${settings.url}/file?root=${root}`, { timeoutMs: DOWNLOAD_MS });
  const hasher = new RootHasher();
  const hash = async function* (chunks: AsyncIterable<Uint8Array>) {
    for await (const chunk of chunks) {
      hasher.update(chunk);
      yield chunk;
    }
  };
  // Node's type of a web stream is not the browser's, which `fetch` has here.
  const body = Readable.fromWeb(response.body as never);
  const received = (to: Writable) => pipeline(body, hash, to);
  const verify = () => {
    if (hasher.root() === root.toLowerCase()) return;
    throw new ZerographError("root_mismatch", `${settings.url} answered with something else than this file.`);
  };
  try {
    if (place.isRegular)
      await storeAt(place.path, async (to) => {
        await received(to);
        verify();
      });
    else {
      await received(createWriteStream(place.path));
      verify();
    }
  } catch (error) {
    if (error instanceof ZerographError || (error instanceof Error && "syscall" in error)) throw error;
    throw failureOfNetwork(error).error;
  }
  const { sizeBytes } = hasher;
  print({ root, path, sizeBytes }, () => `${path}, ${sizeBytes} bytes`);
  return 0;
}

/** Where a path leads: through a link to its target. Throws a `UsageError` for a folder. */
function placeOf(path: string): { readonly path: string; readonly isRegular: boolean } {
  const found = statSync(path, { throwIfNoEntry: false });
  if (found?.isDirectory()) throw new UsageError(`${path} is a folder: name a file in it.`);
  return found ? { path: realpathSync(path), isRegular: found.isFile() } : { path, isRegular: true };
}

/** Writes a file under another name, and renames it when that succeeds. Nothing is left of it otherwise. */
async function storeAt(path: string, fill: (to: Writable) => Promise<void>): Promise<void> {
  const partial = `${path}.${randomUUID()}.part`;
  const to = createWriteStream(partial, { flags: "wx" });
  const end = (signal: NodeJS.Signals) => {
    rmSync(partial, { force: true });
    forget();
    process.kill(process.pid, signal);
  };
  const forget = () => {
    for (const signal of SIGNALS) process.off(signal, end);
  };
  for (const signal of SIGNALS) process.on(signal, end);
  try {
    await fill(to);
    renameSync(partial, path);
  } catch (error) {
    rmSync(partial, { force: true });
    throw error;
  } finally {
    forget();
  }
}
