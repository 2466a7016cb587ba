import type { App } from "../../src/app.ts";
import type { ReplayKey } from "../../src/idempotency/replay-key.ts";
import type { Principal } from "../../src/keys/auth/principal.ts";
import type { AnswerMemory } from "../../src/load/operation-memory.ts";
import { AnswerAllowance } from "./answer-allowance.ts";
import type { RoutedSocket } from "./events/errors-as-events.ts";
import { createLoaders, type Loaders } from "./loaders.ts";
import type { RoutedOperations } from "./routed-operations.ts";

/** What every resolver receives. (Mercurius adds a member `app` of its own, hence the name `services`.) */
export type Context = {
  readonly services: App;
  readonly principal: Principal;
  /** Derives the key under which answers to the caller's credential are stored; undefined without a credential. */
  readonly replayKey: () => ReplayKey | undefined;
  /** Reserves memory from the budget for what a resolver returns, until the result is sent. */
  readonly memory: AnswerMemory;
  /** Aborts when the client disconnects, where that is known. */
  readonly signal: AbortSignal | undefined;
  /** How many bytes of images the operation may still return. */
  readonly answerAllowance: AnswerAllowance;
  readonly loaders: Loaders;
  /** The socket of the operation, if it belongs to a third-party router. */
  readonly routed?: RoutedSocket;
  /** Counts the operations of such a router. */
  readonly operations?: RoutedOperations;
};

/** The caller, and what comes with the request. */
type Request = Pick<Context, "principal"> & {
  readonly [Name in "replayKey" | "memory" | "signal"]?: Context[Name] | undefined;
};

/** Events on a socket between processes are not counted: nothing signals when one was sent. */
const UNCOUNTED: AnswerMemory = { reserve() {}, charge() {} };

/** A context for one request, or one event of a subscription. */
export function createContext(
  services: App,
  { principal, replayKey = () => undefined, memory = UNCOUNTED, signal }: Request,
): Context {
  const loaders = createLoaders(services, principal);
  return { services, principal, replayKey, memory, signal, answerAllowance: new AnswerAllowance(), loaders };
}
