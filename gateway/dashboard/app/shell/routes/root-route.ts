import { createRootRoute } from "@tanstack/react-router";

/** The route above all pages. `router.tsx` gives it the shell, which knows the pages and so cannot be named here. */
export const rootRoute = createRootRoute();
