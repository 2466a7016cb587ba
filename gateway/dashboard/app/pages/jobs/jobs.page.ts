import { createRoute } from "@tanstack/react-router";
import Images from "lucide-react/icons/images";
import { listSearch } from "../../data/list/list-search.ts";
import { definePage, lazyPage } from "../../shell/routes/page.ts";
import { rootRoute } from "../../shell/routes/root-route.ts";

const route = createRoute({
  getParentRoute: () => rootRoute,
  path: "/jobs",
  validateSearch: listSearch,
  component: lazyPage(async () => (await import("./jobs-page.tsx")).JobsPage),
});
const oneRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/jobs/$id",
  component: lazyPage(async () => (await import("./job-page.tsx")).JobPage),
});

export const jobsPage = definePage({
  name: "Jobs",
  group: "Activity",
  icon: Images,
  to: "/jobs",
  routes: [route, oneRoute],
});
