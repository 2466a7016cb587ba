import { createRoute } from "@tanstack/react-router";
import Bot from "lucide-react/icons/bot";
import { listSearch } from "../../data/list/list-search.ts";
import { definePage, lazyPage } from "../../shell/routes/page.ts";
import { rootRoute } from "../../shell/routes/root-route.ts";
import { tokensSearch } from "./tokens-url.ts";

const route = createRoute({
  getParentRoute: () => rootRoute,
  path: "/tokens",
  validateSearch: tokensSearch,
  component: lazyPage(async () => (await import("./tokens-page.tsx")).TokensPage),
});
const oneRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/tokens/$contract/$id",
  validateSearch: listSearch,
  component: lazyPage(async () => (await import("./token-page.tsx")).TokenPage),
});

export const tokensPage = definePage({
  name: "Agent tokens",
  group: "Chain",
  icon: Bot,
  to: "/tokens",
  routes: [route, oneRoute],
});
