import { ConnectionLost, ZerographError } from "../core/errors.ts";

/** Wrong usage: the message says what is right. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

/** An upload that failed after its transaction was paid; `cause` is the failure. */
export class UnfinishedUpload extends Error {
  override readonly name = "UnfinishedUpload";
}

const PAID =
  "The transaction is paid. Run the command again: once the gateway has read the transaction, there is no further fee.";

/** What went wrong, for people and programs. */
type Message = { readonly code: string; readonly message: string };

/** The code and the text of an error. A bug has its stack. */
export function messageOf(error: unknown): Message {
  if (error instanceof UsageError) return { code: "usage", message: error.message };
  if (error instanceof UnfinishedUpload) {
    const { code, message } = messageOf(error.cause);
    return { code, message: `${message}${/[.?]$/.test(message) ? "" : "."} ${PAID}` };
  }
  if (error instanceof ConnectionLost && error.code === "connection_lost")
    return { code: error.code, message: "The gateway cannot be reached. Is it running, and is --url right?" };
  if (error instanceof ZerographError)
    return { code: error.code, message: `${error.message} (${error.code})` };
  if (error instanceof Error && "syscall" in error) return { code: "file_error", message: error.message };
  return { code: "internal_error", message: error instanceof Error ? String(error.stack) : String(error) };
}

/** 2 for wrong usage, 3 for a gateway that cannot be reached, else 1. An answer that reports a failure is 1. */
export function exitCodeOf(error: unknown): number {
  if (error instanceof UnfinishedUpload) return exitCodeOf(error.cause);
  if (error instanceof UsageError) return 2;
  return error instanceof ConnectionLost && error.code === "connection_lost" ? 3 : 1;
}
