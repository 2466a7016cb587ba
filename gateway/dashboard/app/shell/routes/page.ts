import { type AnyRoute, lazyRouteComponent } from "@tanstack/react-router";
import type { LucideIcon } from "lucide-react";
import type { ComponentType } from "react";
import { loadAgain } from "../../data/query/fetch-again.ts";

/** A group of the navigation. */
export type Group = "Build" | "Activity" | "Billing" | "Chain" | "Operate";

/** Something that the palette finds. */
export type Found = {
  readonly id: string;
  readonly name: string;
  readonly detail?: string;
  /** The path within the dashboard, such as `/requests/0197`. */
  readonly to: string;
  /** Outside the dashboard, such as `/docs/`, in place of `to`. */
  readonly href?: string;
};

/** A page of the dashboard: its place in the navigation, and its routes. */
export type Page<Routes extends readonly AnyRoute[]> = {
  readonly name: string;
  /** Undefined: between the groups. */
  readonly group?: Group;
  /** Whether only operators of the service find it; its content is refused to others anyway. */
  readonly isForOperators?: boolean;
  readonly icon: LucideIcon;
  /** The path of its first route. */
  readonly to: string;
  readonly routes: Routes;
  /** Finds what the palette lists for a text of at least 2 characters: loaded when it is first opened. */
  readonly find?: () => Promise<(text: string, signal: AbortSignal) => Promise<readonly Found[]>>;
};

/** Defines a page. `shell/pages.ts` lists it. */
export function definePage<const Routes extends readonly AnyRoute[]>(page: Page<Routes>): Page<Routes> {
  return page;
}

/**
 * The component of a route, loaded when it is first shown: `lazyPage(async () => (await import("./x.tsx")).X)`. Loading
 * is retried; then the route shows `PageFailure`.
 */
export function lazyPage(load: () => Promise<ComponentType>) {
  return lazyRouteComponent(async () => ({ default: await loadAgain(load) }));
}
