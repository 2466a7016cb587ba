import { createRoute } from "@tanstack/react-router";
import Webhook from "lucide-react/icons/webhook";
import { definePage, lazyPage } from "../../shell/routes/page.ts";
import { rootRoute } from "../../shell/routes/root-route.ts";

const route = createRoute({
  getParentRoute: () => rootRoute,
  path: "/webhooks",
  component: lazyPage(async () => (await import("./webhooks-page.tsx")).WebhooksPage),
});

export const webhooksPage = definePage({
  name: "Webhooks",
  group: "Build",
  icon: Webhook,
  to: "/webhooks",
  routes: [route],
});
