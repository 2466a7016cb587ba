import { type FileReport, SEGMENT, type SegmentStates } from "./messages.ts";

/** The time between two reports of how far a task is, milliseconds. */
export const REPORT_EVERY_MS = 80;

/** The states of the segments of a file, reported a few times a second however many change. */
export class Progress {
  readonly states: SegmentStates;
  readonly #report: (report: FileReport) => void;
  #againCount = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(segments: number, report: (report: FileReport) => void) {
    this.states = new Uint8Array(segments);
    this.#report = report;
    this.flush();
  }

  set(index: number, state: keyof typeof SEGMENT): void {
    this.states[index] = SEGMENT[state];
    if (state === "again") this.#againCount++;
    this.#timer ??= setTimeout(() => this.flush(), REPORT_EVERY_MS);
  }

  /** Reports what has changed now. */
  flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#report({ kind: "segments", states: this.states.slice(), againCount: this.#againCount });
  }
}
