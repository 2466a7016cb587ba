import { createRoute } from "@tanstack/react-router";
import Wallet from "lucide-react/icons/wallet";
import { listSearch } from "../../data/list/list-search.ts";
import { definePage, lazyPage } from "../../shell/routes/page.ts";
import { rootRoute } from "../../shell/routes/root-route.ts";

const route = createRoute({
  getParentRoute: () => rootRoute,
  path: "/deposits",
  validateSearch: listSearch,
  component: lazyPage(async () => (await import("./deposits-page.tsx")).DepositsPage),
});

export const depositsPage = definePage({
  name: "Deposits",
  group: "Billing",
  icon: Wallet,
  to: "/deposits",
  routes: [route],
});
