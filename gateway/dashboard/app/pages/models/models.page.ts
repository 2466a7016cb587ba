import { createRoute } from "@tanstack/react-router";
import Boxes from "lucide-react/icons/boxes";
import { definePage, lazyPage } from "../../shell/routes/page.ts";
import { rootRoute } from "../../shell/routes/root-route.ts";
import { modelsSearch } from "./models-url.ts";

const route = createRoute({
  getParentRoute: () => rootRoute,
  path: "/models",
  validateSearch: modelsSearch,
  component: lazyPage(async () => (await import("./models-page.tsx")).ModelsPage),
});
const oneRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/models/$id",
  component: lazyPage(async () => (await import("./model-page.tsx")).ModelPage),
});

export const modelsPage = definePage({
  name: "Models",
  group: "Build",
  icon: Boxes,
  to: "/models",
  routes: [route, oneRoute],
  find: async () => (await import("./find-models.ts")).findModels,
});
