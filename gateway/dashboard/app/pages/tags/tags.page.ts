import { createRoute } from "@tanstack/react-router";
import Tags from "lucide-react/icons/tags";
import * as z from "zod/mini";
import { listSearch, parameter } from "../../data/list/list-search.ts";
import { definePage, lazyPage } from "../../shell/routes/page.ts";
import { rootRoute } from "../../shell/routes/root-route.ts";

/** `range`: how far back the spend goes, 30 days by default; `name`: only tags with this name. */
export const tagsSearch = z.extend(listSearch, {
  range: parameter(z.enum(["day", "week", "all"])),
  name: parameter(z.string().check(z.minLength(1), z.maxLength(64))),
});

const route = createRoute({
  getParentRoute: () => rootRoute,
  path: "/tags",
  validateSearch: tagsSearch,
  component: lazyPage(async () => (await import("./tags-page.tsx")).TagsPage),
});

export const tagsPage = definePage({
  name: "Tags and budgets",
  group: "Billing",
  icon: Tags,
  to: "/tags",
  routes: [route],
});
