import type { FileReport, FileTask } from "./messages.ts";
import { receiveFile } from "./receive-file.ts";
import { SegmentRefused } from "./segment-failure.ts";
import { SentFile } from "./send-file.ts";

// The entry of the worker: hashes, sends, and verifies files away from the page's thread. One worker does one task at a
// time; the page ends it to cancel. Its own response allows WebAssembly; the page's does not.

let sent: SentFile | undefined;

addEventListener("message", ({ data: task }: MessageEvent<FileTask>) => {
  run(task).catch((error: unknown) =>
    report({
      kind: "failed",
      message: error instanceof Error ? error.message : String(error),
      segment: error instanceof SegmentRefused ? error.segment : undefined,
    }),
  );
});

async function run(task: FileTask): Promise<void> {
  if (task.kind === "hash") {
    sent = await SentFile.hash(task.file, report);
    const { root, nodes } = sent.tree;
    return report({ kind: "hashed", file: { root, nodes } });
  }
  if (task.kind === "receive") {
    const bytes = await receiveFile(task.receipt, report);
    return report({ kind: "received", bytes, isListed: task.receipt.listing !== undefined });
  }
  await sent?.send(task.stored);
  report({ kind: "sent" });
}

function report(said: FileReport): void {
  postMessage(said);
}
