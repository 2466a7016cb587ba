import { createRoute } from "@tanstack/react-router";
import FolderOpen from "lucide-react/icons/folder-open";
import { definePage, lazyPage } from "../../shell/routes/page.ts";
import { rootRoute } from "../../shell/routes/root-route.ts";
import { fileSearch, storageSearch } from "./storage-search.ts";

const route = createRoute({
  getParentRoute: () => rootRoute,
  path: "/storage",
  validateSearch: storageSearch,
  component: lazyPage(async () => (await import("./storage-page.tsx")).StoragePage),
});
const fileRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/storage/$root",
  validateSearch: fileSearch,
  component: lazyPage(async () => (await import("./file/file-page.tsx")).FilePage),
});

export const storagePage = definePage({
  name: "Storage",
  group: "Chain",
  icon: FolderOpen,
  to: "/storage",
  routes: [route, fileRoute],
});
