import { createRoute } from "@tanstack/react-router";
import Gauge from "lucide-react/icons/gauge";
import { definePage, lazyPage } from "../../shell/routes/page.ts";
import { rootRoute } from "../../shell/routes/root-route.ts";

const route = createRoute({
  getParentRoute: () => rootRoute,
  path: "/operations",
  component: lazyPage(async () => (await import("./operations-page.tsx")).OperationsPage),
});

export const operationsPage = definePage({
  name: "Operations",
  group: "Operate",
  isForOperators: true,
  icon: Gauge,
  to: "/operations",
  routes: [route],
});
