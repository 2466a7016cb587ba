import type { App } from "../../src/app.ts";
import type { Principal } from "../../src/keys/principal.ts";
import { createLoaders, type Loaders } from "./loaders.ts";

/** What every resolver is given. */
export type Context = { readonly app: App; readonly principal: Principal; readonly loaders: Loaders };

/** A context for one request, or one event of a subscription. */
export function createContext(app: App, principal: Principal): Context {
  return { app, principal, loaders: createLoaders(app, principal) };
}
