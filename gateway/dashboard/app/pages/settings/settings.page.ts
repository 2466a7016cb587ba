import { createRoute } from "@tanstack/react-router";
import Settings from "lucide-react/icons/settings";
import { listSearch } from "../../data/list/list-search.ts";
import { definePage, lazyPage } from "../../shell/routes/page.ts";
import { rootRoute } from "../../shell/routes/root-route.ts";

const route = createRoute({
  getParentRoute: () => rootRoute,
  path: "/settings",
  validateSearch: listSearch,
  component: lazyPage(async () => (await import("./settings-page.tsx")).SettingsPage),
});

export const settingsPage = definePage({
  name: "Settings",
  icon: Settings,
  to: "/settings",
  routes: [route],
});
