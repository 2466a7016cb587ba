import { createRoute } from "@tanstack/react-router";
import Cpu from "lucide-react/icons/cpu";
import { definePage, lazyPage } from "../../shell/routes/page.ts";
import { rootRoute } from "../../shell/routes/root-route.ts";

const route = createRoute({
  getParentRoute: () => rootRoute,
  path: "/node",
  component: lazyPage(async () => (await import("./node-page.tsx")).NodePage),
});

export const nodePage = definePage({
  name: "Node",
  group: "Operate",
  icon: Cpu,
  to: "/node",
  routes: [route],
});
