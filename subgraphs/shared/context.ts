import type { App } from "../../src/app.ts";
import type { ReplayKey } from "../../src/idempotency/replay-key.ts";
import type { Principal } from "../../src/keys/principal.ts";
import { createLoaders, type Loaders } from "./loaders.ts";
import type { RoutedOperations } from "./routed-operations.ts";
import type { RoutedSocket } from "./told-source.ts";

/** What every resolver is given. (Mercurius puts a member `app` of its own into it, hence the name.) */
export type Context = {
  readonly services: App;
  readonly principal: Principal;
  /** Derives the key under which answers to the caller's credential are stored; undefined without a credential. */
  readonly replayKey: () => ReplayKey | undefined;
  readonly loaders: Loaders;
  /** The socket that is asked over, when it is of a router that is not ours. */
  readonly routed?: RoutedSocket;
  /** What counts the operations of such a router. */
  readonly operations?: RoutedOperations;
};

/** A context for one request, or one event of a subscription. */
export function createContext(
  services: App,
  {
    principal,
    replayKey = () => undefined,
  }: Pick<Context, "principal"> & { readonly replayKey?: Context["replayKey"] | undefined },
): Context {
  return { services, principal, replayKey, loaders: createLoaders(services, principal) };
}
