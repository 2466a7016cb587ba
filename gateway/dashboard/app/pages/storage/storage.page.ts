import { createRoute } from "@tanstack/react-router";
import FolderOpen from "lucide-react/icons/folder-open";
import { listSearch } from "../../data/list-search.ts";
import { definePage, lazyPage } from "../../shell/page.ts";
import { rootRoute } from "../../shell/root-route.ts";

const route = createRoute({
  getParentRoute: () => rootRoute,
  path: "/storage",
  validateSearch: listSearch,
  component: lazyPage(async () => (await import("./storage-page.tsx")).StoragePage),
});
const fileRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/storage/$root",
  component: lazyPage(async () => (await import("./file-page.tsx")).FilePage),
});

export const storagePage = definePage({
  name: "Storage",
  group: "Chain",
  icon: FolderOpen,
  to: "/storage",
  routes: [route, fileRoute],
});
