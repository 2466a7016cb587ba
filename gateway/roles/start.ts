import type { Config } from "../../src/config.ts";
import type { Logger } from "../../src/kernel/log.ts";

/** Shutdown functions of everything started, newest first. They run in this order. */
export type Ends = (() => Promise<unknown>)[];

/** The arguments of a role; `name` is the subgraph's name. */
export type Start = {
  readonly name: string;
  readonly config: Config;
  readonly log: Logger;
  readonly ends: Ends;
};
