import type { Browser, Page } from "playwright-core";
import { openPage } from "../support/clients/browser.ts";

/** The pages of the dashboard besides the overview, by their headings, which the navigation uses too. */
export const PAGES = [
  "Models",
  "Playground",
  "API keys",
  "Requests",
  "Jobs",
  "Batches",
  "Deposits",
  "Tags",
  "Webhooks",
  "Tokens",
  "Storage",
  "Providers",
  "Network",
  "Node",
  "Settings",
];

/** A page of the dashboard after signing in with one click. */
export async function openSignedIn(
  browser: Browser,
  origin: string,
  options: Parameters<typeof openPage>[2] = {},
) {
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
