import { createRouter } from "@tanstack/react-router";
import { Loading } from "../../parts/page/states.tsx";
import { Shell } from "../shell.tsx";
import { NotFound } from "./not-found.tsx";
import { PageFailure } from "./page-boundary.tsx";
import { PAGES } from "./pages.ts";
import { rootRoute } from "./root-route.ts";

const routeTree = rootRoute
  .update({ component: Shell, notFoundComponent: NotFound })
  .addChildren(PAGES.flatMap(({ routes }) => [...routes]));

/** The router of the dashboard. A page that fails shows what happened in its own place; the shell stays usable. */
export const router = createRouter({
  routeTree,
  basepath: "/dashboard",
  defaultPreload: "intent",
  defaultPendingComponent: () => <Loading rows={6} />,
  defaultErrorComponent: PageFailure,
  scrollRestoration: true,
});

declare module "@tanstack/react-router" {
  interface Register {
    router: typeof router;
  }
}
