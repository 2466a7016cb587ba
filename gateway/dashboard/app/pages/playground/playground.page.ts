import { createRoute } from "@tanstack/react-router";
import MessageSquare from "lucide-react/icons/message-square";
import { definePage, lazyPage } from "../../shell/page.ts";
import { rootRoute } from "../../shell/root-route.ts";

const route = createRoute({
  getParentRoute: () => rootRoute,
  path: "/playground",
  component: lazyPage(async () => (await import("./playground-page.tsx")).PlaygroundPage),
});

export const playgroundPage = definePage({
  name: "Playground",
  group: "Build",
  icon: MessageSquare,
  to: "/playground",
  routes: [route],
});
