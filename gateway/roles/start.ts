import type { Config } from "../../src/config.ts";
import type { Logger } from "../../src/kernel/log.ts";

/** Shutdown functions of everything started, newest first. They run in this order. */
export type Ends = (() => Promise<unknown>)[];

/** The phase of a process: it is ready only while it serves. */
export type Phase = "starting" | "serving" | "shutting down";

/** The arguments of a role; `name` is the subgraph's name. */
export type Start = {
  readonly name: string;
  readonly config: Config;
  readonly log: Logger;
  readonly ends: Ends;
  readonly phase: () => Phase;
};
