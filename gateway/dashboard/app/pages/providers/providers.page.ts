import { createRoute } from "@tanstack/react-router";
import Server from "lucide-react/icons/server";
import { listSearch } from "../../data/list/list-search.ts";
import { definePage, lazyPage } from "../../shell/routes/page.ts";
import { rootRoute } from "../../shell/routes/root-route.ts";

const route = createRoute({
  getParentRoute: () => rootRoute,
  path: "/providers",
  validateSearch: listSearch,
  component: lazyPage(async () => (await import("./providers-page.tsx")).ProvidersPage),
});

export const providersPage = definePage({
  name: "Providers",
  group: "Operate",
  icon: Server,
  to: "/providers",
  routes: [route],
});
