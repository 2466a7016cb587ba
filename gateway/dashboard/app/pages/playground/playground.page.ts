import { createRoute } from "@tanstack/react-router";
import MessageSquare from "lucide-react/icons/message-square";
import * as z from "zod/mini";
import { parameter } from "../../data/list/list-search.ts";
import { definePage, lazyPage } from "../../shell/routes/page.ts";
import { rootRoute } from "../../shell/routes/root-route.ts";

const route = createRoute({
  getParentRoute: () => rootRoute,
  path: "/playground",
  validateSearch: z.object({
    tab: parameter(
      z.enum(["chat", "responses", "images", "transcription", "speech", "rankings", "embeddings"]),
    ),
    /** The model to try first, such as to chat with instead of the one of the last time. */
    model: parameter(z.string().check(z.maxLength(256))),
  }),
  component: lazyPage(async () => (await import("./playground-page.tsx")).PlaygroundPage),
});

export const playgroundPage = definePage({
  name: "Playground",
  group: "Build",
  icon: MessageSquare,
  to: "/playground",
  routes: [route],
});
