import { useEffect, useRef, useState } from "react";
import { bytes } from "../../../data/amounts.ts";
import { reasonOf } from "../../../data/query/graph.ts";
import { saveFile } from "../../../data/save-file.ts";
import { FileWorker } from "../file-worker.ts";
import type { FileReport, Receipt, SegmentStates } from "../worker/messages.ts";

/** The most bytes that are kept in memory until they are verified. Larger files are written to disk as they arrive. */
export const MAX_IN_MEMORY_BYTES = 512 * 1_048_576;

type Picker = (options: { readonly suggestedName: string }) => Promise<FileSystemFileHandle>;

/** The dialog that chooses where a file is saved; undefined in browsers without one. */
export function savePicker(): Picker | undefined {
  const { showSaveFilePicker } = globalThis as { showSaveFilePicker?: Picker };
  return showSaveFilePicker?.bind(globalThis);
}

/** A verified download, and how far it is. */
export type Download = {
  readonly state: "running" | "saved" | "failed" | "cancelled";
  readonly states: SegmentStates | undefined;
  readonly againCount: number;
  readonly reason: string | undefined;
};

/** Runs one verified download at a time. It ends with the component. */
export function useDownload(receipt: Receipt, name: string) {
  const [download, setDownload] = useState<Download>();
  const running = useRef<AbortController>(undefined);
  useEffect(() => () => running.current?.abort(), []);
  const change = (fields: Partial<Download>) => setDownload((last) => last && { ...last, ...fields });
  const cancel = () => {
    running.current?.abort();
    change({ state: "cancelled" });
  };
  /** `toDisk`: the user chooses where, and the bytes are written there as they are verified. */
  const start = async (toDisk: boolean) => {
    running.current?.abort();
    const stop = new AbortController();
    running.current = stop;
    let handle: FileSystemFileHandle | undefined;
    try {
      handle = toDisk ? await savePicker()?.({ suggestedName: name }) : undefined;
    } catch {
      // The dialog was closed.
      return;
    }
    setDownload({ state: "running", states: undefined, againCount: 0, reason: undefined });
    const worker = new FileWorker(stop.signal);
    try {
      requireBounded(receipt, handle);
      const watch = (report: FileReport) => {
        if (report.kind === "segments" && !stop.signal.aborted)
          change({ states: report.states, againCount: report.againCount });
      };
      const { bytes: received } = await worker.receive({ ...receipt, handle }, watch);
      if (received) saveFile(name, received);
      change({ state: "saved" });
    } catch (error) {
      if (!stop.signal.aborted) change({ state: "failed", reason: reasonOf(error) });
    } finally {
      worker.end();
    }
  };
  return { download, start, cancel };
}

/** Throws if the bytes would be kept in memory and are too many. */
function requireBounded({ parts }: Receipt, handle: FileSystemFileHandle | undefined): void {
  const size = parts.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
  if (handle || size <= MAX_IN_MEMORY_BYTES) return;
  throw new Error(
    `This browser cannot write to disk as it downloads, and keeps up to ${bytes(String(MAX_IN_MEMORY_BYTES))} in memory.`,
  );
}
