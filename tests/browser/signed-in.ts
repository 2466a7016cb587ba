import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll } from "vitest";
import { openBrowser, openPage } from "../support/clients/browser.ts";
import type { OnEnd } from "../support/servers/database.ts";
import { type Product, startProduct } from "./product.ts";

type PageOptions = Parameters<typeof openPage>[2];

/** The pages of the dashboard besides the overview, by their headings, which the navigation uses too. */
export const PAGES = [
  "Models",
  "Playground",
  "API keys",
  "Requests",
  "Jobs",
  "Batches",
  "Deposits",
  "Tags and budgets",
  "Webhooks",
  "Agent tokens",
  "Storage",
  "Providers",
  "Network",
  "Node",
  "Settings",
];

/** What the tests of a file share. */
type Dashboard = {
  readonly product: Product;
  /** Undefined where there is none: the tests are skipped. */
  readonly browser: Browser | undefined;
  /** A page after signing in with one click. */
  signedIn(options?: PageOptions): ReturnType<typeof openSignedIn>;
};

/** A product and a browser for the tests of a file, which may be used once these begin. */
export function useDashboard(settings: Readonly<Record<string, string>> = {}): () => Dashboard {
  const ends: (() => Promise<void>)[] = [];
  const onEnd: OnEnd = (end) => void ends.unshift(end);
  let opened: Dashboard | undefined;
  beforeAll(async () => {
    const [browser, product] = await Promise.all([openBrowser(onEnd), startProduct(onEnd, settings)]);
    const signedIn = (options?: PageOptions) => openSignedIn(browser as Browser, product.origin, options);
    opened = { product, browser, signedIn };
  });
  afterAll(async () => {
    for (const end of ends) await end();
  });
  return () => {
    if (!opened) throw new Error("the product is not started yet");
    return opened;
  };
}

/** A page of the dashboard after signing in with one click. */
export async function openSignedIn(browser: Browser, origin: string, options: PageOptions = {}) {
  const opened = await openPage(browser, origin, options);
  await opened.page.goto(`${origin}/dashboard/`);
  await opened.page.getByRole("button", { name: "Sign in with the development wallet" }).click();
  await heading(opened.page, "Overview");
  return opened;
}

/** Waits for the page with this heading. */
export async function heading(page: Page, name: string): Promise<void> {
  await page.getByRole("heading", { level: 1, name, exact: true }).waitFor();
}

/** Opens a page by the navigation, which a narrow window hides behind a button. */
export async function go(page: Page, name: string): Promise<void> {
  const burger = page.getByRole("button", { name: "Open the navigation" });
  if (await burger.isVisible()) await burger.click();
  await linkOf(page, name).click();
  await heading(page, name);
}

/** The link of the navigation to a page. */
export function linkOf(page: Page, name: string) {
  return page.getByRole("navigation", { name: "Pages" }).getByRole("link", { name, exact: true });
}
