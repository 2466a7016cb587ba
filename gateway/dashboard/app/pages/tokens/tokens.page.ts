import { createRoute } from "@tanstack/react-router";
import Bot from "lucide-react/icons/bot";
import * as z from "zod/mini";
import { listSearch, parameter } from "../../data/list-search.ts";
import { definePage, lazyPage } from "../../shell/page.ts";
import { rootRoute } from "../../shell/root-route.ts";

const address = z.string().check(z.regex(/^0x[0-9A-Fa-f]{40}$/));

/** `owner`: whose tokens, those of everyone with `any`, and without it those of the signed-in account. */
export const tokensSearch = z.extend(listSearch, {
  owner: parameter(z.union([address, z.literal("any")])),
  contract: parameter(address),
});
export type TokensSearch = z.output<typeof tokensSearch>;

const route = createRoute({
  getParentRoute: () => rootRoute,
  path: "/tokens",
  validateSearch: tokensSearch,
  component: lazyPage(async () => (await import("./tokens-page.tsx")).TokensPage),
});
const oneRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/tokens/$contract/$id",
  validateSearch: listSearch,
  component: lazyPage(async () => (await import("./token-page.tsx")).TokenPage),
});

export const tokensPage = definePage({
  name: "Tokens",
  group: "Manage",
  icon: Bot,
  to: "/tokens",
  routes: [route, oneRoute],
});
