import { createRoute } from "@tanstack/react-router";
import Bot from "lucide-react/icons/bot";
import { definePage, lazyPage } from "../../shell/page.ts";
import { rootRoute } from "../../shell/root-route.ts";

const route = createRoute({
  getParentRoute: () => rootRoute,
  path: "/tokens",
  component: lazyPage(async () => (await import("./tokens-page.tsx")).TokensPage),
});

export const tokensPage = definePage({
  name: "Agent tokens",
  group: "Chain",
  icon: Bot,
  to: "/tokens",
  routes: [route],
});
