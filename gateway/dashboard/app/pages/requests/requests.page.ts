import { createRoute } from "@tanstack/react-router";
import ArrowLeftRight from "lucide-react/icons/arrow-left-right";
import { definePage, lazyPage } from "../../shell/routes/page.ts";
import { rootRoute } from "../../shell/routes/root-route.ts";
import { requestSearch } from "./request-search.ts";

const route = createRoute({
  getParentRoute: () => rootRoute,
  path: "/requests",
  validateSearch: requestSearch,
  component: lazyPage(async () => (await import("./requests-page.tsx")).RequestsPage),
});
const oneRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/requests/$id",
  component: lazyPage(async () => (await import("./request-page.tsx")).RequestPage),
});

export const requestsPage = definePage({
  name: "Requests",
  group: "Activity",
  icon: ArrowLeftRight,
  to: "/requests",
  routes: [route, oneRoute],
  find: async () => (await import("./find-requests.ts")).findRequests,
});
