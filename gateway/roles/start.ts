import type { Config } from "../../src/config.ts";
import type { Logger } from "../../src/kernel/log.ts";

/** What was started, newest first: it is ended in this order. */
export type Ends = (() => Promise<unknown>)[];

/** What a role is started with; `name` is the subgraph's. */
export type Start = {
  readonly name: string;
  readonly config: Config;
  readonly log: Logger;
  readonly ends: Ends;
};
