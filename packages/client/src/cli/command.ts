import type { Settings } from "./settings.ts";

/** What a command is given. */
export type Invocation = {
  /** Its arguments without options. */
  readonly words: readonly string[];
  readonly options: {
    readonly model?: string | undefined;
    readonly out?: string | undefined;
    readonly name?: string | undefined;
    readonly threshold?: string | undefined;
  };
  readonly settings: Settings;
  readonly isJson: boolean;
  /**
   * Prints a result: as JSON in one line, or for people. `ifLost` says what to do if it cannot be written, for a result
   * that is shown once.
   */
  readonly print: (data: unknown, text: () => string, ifLost?: string) => void;
  /** Writes a part of a text to standard output. */
  readonly write: (text: string) => void;
};

/** Runs, and resolves with the exit status. Throws what `exitCodeOf` knows. */
export type Command = (invocation: Invocation) => Promise<number>;
