import { reasonOf } from "../../../data/query/graph.ts";
import { isReloading } from "../../../data/session/session-watch.ts";
import { folderManifest } from "../file/folder-manifest.ts";
import type { FileReport, SegmentStates } from "../worker/messages.ts";
import type { ChosenFile } from "./chosen-files.ts";
import { type Payer, uploadFile } from "./upload-steps.ts";

/** `waiting`: for its turn. `stored`: every segment is at the gateway. */
export type UploadState = "waiting" | "hashing" | "paying" | "sending" | "stored" | "failed" | "cancelled";

/** A file that is uploaded, and how far it is. */
export type Upload = {
  readonly id: number;
  readonly name: string;
  /** Undefined for the manifest of a folder whose files are not stored yet. */
  readonly sizeBytes: number | undefined;
  /** The folder that it is part of, and whether it is the manifest of that folder. */
  readonly folder: { readonly id: number; readonly isManifest: boolean } | undefined;
  readonly state: UploadState;
  readonly root: string | undefined;
  /** What the chain charges for its submission, in neuron; undefined while nothing is to be paid. */
  readonly fee: string | undefined;
  readonly hashedBytes: number;
  readonly segments: { readonly states: SegmentStates; readonly againCount: number } | undefined;
  /** Why it takes longer, or why it failed. */
  readonly reason: string | undefined;
};

/** The bytes of an upload: a manifest has them once the files of its folder are stored. */
type Entry = { readonly path: readonly string[]; bytes(): File; readonly payer: Payer };

const ENDED: readonly UploadState[] = ["stored", "failed", "cancelled"];

/** Whether an upload is over, for good or not. */
export function isOver({ state }: Upload): boolean {
  return ENDED.includes(state);
}

/** The uploads of this tab, one after the other. They go on while other pages are shown. */
class UploadQueue {
  #uploads: readonly Upload[] = [];
  readonly #entries = new Map<number, Entry>();
  readonly #listeners = new Set<() => void>();
  #lastId = 0;
  #running: { readonly id: number; readonly stop: AbortController } | undefined;

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  /** The uploads; another array after each change. */
  readonly uploads = (): readonly Upload[] => this.#uploads;

  add(files: readonly ChosenFile[], payer: Payer): void {
    for (const { file, path } of files) this.#add({ path, payer, bytes: () => file }, file.size, undefined);
    this.#next();
  }

  /** Adds the files of a folder, then its manifest: the file that lists them. */
  addFolder(name: string, files: readonly ChosenFile[], payer: Payer): void {
    const folder = ++this.#lastId;
    const ids = files.map(({ file, path }) =>
      // An empty file has no bytes to store: only the manifest has it.
      file.size === 0
        ? undefined
        : this.#add({ path, payer, bytes: () => file }, file.size, { id: folder, isManifest: false }),
    );
    const bytes = () => {
      const roots = ids
        .map((id) => this.#find(id))
        .map((upload) => upload?.state === "stored" && upload.root);
      return folderManifest(
        name,
        files.map(({ path, file }, at) => ({ path, sizeBytes: file.size, root: roots[at] || undefined })),
      );
    };
    this.#add({ path: [name], payer, bytes }, undefined, { id: folder, isManifest: true });
    this.#next();
  }

  /** Stops an upload. What is stored of it stays, and is not sent again if it is tried again. */
  cancel(id: number): void {
    if (this.#running?.id === id) this.#running.stop.abort();
    this.#change(id, { state: "cancelled", reason: undefined });
  }

  /** Tries an upload again that failed or was cancelled. */
  retry(id: number): void {
    this.#change(id, { state: "waiting", reason: undefined, hashedBytes: 0 });
    this.#next();
  }

  /** Takes those that are over off the list. */
  clear(): void {
    for (const upload of this.#uploads) if (isOver(upload)) this.#entries.delete(upload.id);
    this.#set(this.#uploads.filter((upload) => !isOver(upload)));
  }

  #add(entry: Entry, sizeBytes: number | undefined, folder: Upload["folder"]): number {
    const id = ++this.#lastId;
    this.#entries.set(id, entry);
    const fresh = {
      root: undefined,
      fee: undefined,
      hashedBytes: 0,
      segments: undefined,
      reason: undefined,
    } as const;
    const name = entry.path.join("/");
    this.#set([...this.#uploads, { ...fresh, id, name, sizeBytes, folder, state: "waiting" }]);
    return id;
  }

  #next(): void {
    const waiting = this.#uploads.find(({ state }) => state === "waiting");
    const entry = waiting && this.#entries.get(waiting.id);
    if (this.#running || !waiting || !entry) return;
    const stop = new AbortController();
    this.#running = { id: waiting.id, stop };
    void this.#run(waiting.id, entry, stop.signal).finally(() => {
      this.#running = undefined;
      this.#next();
    });
  }

  async #run(id: number, { payer, bytes }: Entry, signal: AbortSignal): Promise<void> {
    const change = (fields: Partial<Upload>) => {
      if (!signal.aborted) this.#change(id, fields);
    };
    try {
      const file = bytes();
      change({ state: "hashing", sizeBytes: file.size });
      const steps = {
        onReport: (report: FileReport) => change(changeOf(report)),
        onHashed: ({ root }: { readonly root: string }) => change({ root }),
        onPaying: (fee: string) => change({ state: "paying", fee }),
        onSending: () => change({ state: "sending" }),
      };
      await uploadFile(file, payer, steps, signal);
      change({ state: "stored", reason: undefined });
    } catch (error) {
      change({ state: "failed", reason: reasonOf(error) });
    }
  }

  #find(id: number | undefined): Upload | undefined {
    return this.#uploads.find((upload) => upload.id === id);
  }

  #change(id: number, fields: Partial<Upload>): void {
    this.#set(this.#uploads.map((upload) => (upload.id === id ? { ...upload, ...fields } : upload)));
  }

  #set(uploads: readonly Upload[]): void {
    this.#uploads = uploads;
    for (const listener of this.#listeners) listener();
  }
}

function changeOf(report: FileReport): Partial<Upload> {
  if (report.kind === "hashing") return { hashedBytes: report.doneBytes };
  if (report.kind === "waiting") return { reason: report.why };
  if (report.kind !== "segments") return {};
  return { segments: { states: report.states, againCount: report.againCount } };
}

/** The uploads of this tab. */
export const uploadQueue = new UploadQueue();

// Leaving would end them.
addEventListener("beforeunload", (event) => {
  if (!isReloading() && uploadQueue.uploads().some((upload) => !isOver(upload))) event.preventDefault();
});
