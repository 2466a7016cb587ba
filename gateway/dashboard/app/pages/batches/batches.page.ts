import { createRoute } from "@tanstack/react-router";
import Layers from "lucide-react/icons/layers";
import * as z from "zod/mini";
import { listSearch, parameter } from "../../data/list/list-search.ts";
import { definePage, lazyPage } from "../../shell/routes/page.ts";
import { rootRoute } from "../../shell/routes/root-route.ts";

/** `tab`: the batches, or the files that they read and write. */
export const batchesSearch = z.extend(listSearch, { tab: parameter(z.enum(["files"])) });

const route = createRoute({
  getParentRoute: () => rootRoute,
  path: "/batches",
  validateSearch: batchesSearch,
  component: lazyPage(async () => (await import("./batches-page.tsx")).BatchesPage),
});
const oneRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/batches/$id",
  component: lazyPage(async () => (await import("./batch-page.tsx")).BatchPage),
});

export const batchesPage = definePage({
  name: "Batches",
  group: "Activity",
  icon: Layers,
  to: "/batches",
  routes: [route, oneRoute],
});
