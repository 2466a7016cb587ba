import { createRoute } from "@tanstack/react-router";
import Globe from "lucide-react/icons/globe";
import { definePage, lazyPage } from "../../shell/routes/page.ts";
import { rootRoute } from "../../shell/routes/root-route.ts";

const route = createRoute({
  getParentRoute: () => rootRoute,
  path: "/network",
  component: lazyPage(async () => (await import("./network-page.tsx")).NetworkPage),
});

export const networkPage = definePage({
  name: "Network",
  group: "Chain",
  icon: Globe,
  to: "/network",
  routes: [route],
});
