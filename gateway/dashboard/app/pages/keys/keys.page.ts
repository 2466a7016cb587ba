import { createRoute } from "@tanstack/react-router";
import KeyRound from "lucide-react/icons/key-round";
import * as z from "zod/mini";
import { listSearch, parameter } from "../../data/list/list-search.ts";
import { definePage, lazyPage } from "../../shell/routes/page.ts";
import { rootRoute } from "../../shell/routes/root-route.ts";

/** `all`: revoked and expired keys too. */
export const keysSearch = z.extend(listSearch, { all: parameter(z.boolean()) });

const route = createRoute({
  getParentRoute: () => rootRoute,
  path: "/keys",
  validateSearch: keysSearch,
  component: lazyPage(async () => (await import("./keys-page.tsx")).KeysPage),
});

export const keysPage = definePage({
  name: "API keys",
  group: "Build",
  icon: KeyRound,
  to: "/keys",
  routes: [route],
  find: async () => (await import("./find-keys.ts")).findKeys,
});
