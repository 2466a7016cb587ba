import { createRoute } from "@tanstack/react-router";
import LayoutDashboard from "lucide-react/icons/layout-dashboard";
import { definePage, lazyPage } from "../../shell/routes/page.ts";
import { rootRoute } from "../../shell/routes/root-route.ts";
import { overviewSearch } from "./overview-range.ts";

const route = createRoute({
  getParentRoute: () => rootRoute,
  path: "/",
  validateSearch: overviewSearch,
  component: lazyPage(async () => (await import("./overview-page.tsx")).OverviewPage),
});

export const overviewPage = definePage({
  name: "Overview",
  icon: LayoutDashboard,
  to: "/",
  routes: [route],
});
