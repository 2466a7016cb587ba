// @module-tag large
import { readFile } from "node:fs/promises";
import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { toPlainTokens } from "../../gateway/dashboard/app/data/amounts.ts";
import type { Trace } from "../../src/inference/billing/trace.ts";
import { PATIENCE_MS, requireAccessible } from "../support/clients/browser.ts";
import { rest } from "../support/clients/rest-client.ts";
import { go, heading, linkOf, PAGES, useDashboard } from "./signed-in.ts";

const dashboard = useDashboard();

/** Asks a model with a key, and returns what the answer says of its request. */
async function ask(key: string): Promise<Trace> {
  const messages = [{ role: "user", content: "The sea?" }];
  const { body } = await rest<{ readonly x_0g_trace: Trace }>(
    dashboard().product.origin,
    "/v1/chat/completions",
    key,
    {
      body: { model: "devnet-chat", messages },
    },
  );
  return body.x_0g_trace;
}

/** Where the focus is, by its accessible text. */
function focused(page: Page): Promise<string> {
  return page.evaluate<string>(
    "document.activeElement.getAttribute('aria-label') ?? document.activeElement.textContent",
  );
}

test("every response has a policy of its own that allows no inline script, and no page violates it", async (context) => {
  if (!dashboard().browser) return context.skip();
  const policies = new Set<string>();
  for (const path of ["", "keys", "index.html"]) {
    const response = await fetch(`${dashboard().product.origin}/dashboard/${path}`);
    const policy = response.headers.get("content-security-policy") ?? "";
    const [, nonce = ""] = /style-src 'self' 'nonce-([A-Za-z0-9+/=]{24})'/.exec(policy) ?? [];
    expect(policy).not.toContain("unsafe-inline");
    expect(policy).toContain("script-src 'self';");
    expect(await response.text()).toContain(`<meta property="csp-nonce" nonce="${nonce}">`);
    policies.add(policy);
  }
  expect(policies.size).toBe(3);

  const { page, faults } = await dashboard().signedIn();
  await page.addInitScript(
    "window.violations = []; addEventListener('securitypolicyviolation', ({ violatedDirective, sourceFile }) => window.violations.push(violatedDirective + ' ' + sourceFile))",
  );
  await page.reload();
  await heading(page, "Overview");
  for (const name of PAGES) await go(page, name);
  // What adds styles outside React: a dialog, a toast, another colour scheme.
  await go(page, "API keys");
  await page.getByRole("button", { name: "Create a key" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Cancel" }).click();
  await page.getByRole("button", { name: /^Colours/ }).click();
  await page.getByRole("menuitem", { name: "Dark" }).click();
  await page.getByRole("button", { name: /^Account/ }).click();
  await page.getByRole("menuitem", { name: "Copy address" }).click();
  await page.getByText("Copied the address.").waitFor();
  expect(await page.evaluate("window.violations")).toEqual([]);
  expect(faults).toEqual([]);
});

test("a part that is gone is said to be, beside a shell that works, and is there after a reload", async (context) => {
  if (!dashboard().browser) return context.skip();
  const { page } = await dashboard().signedIn();
  const chunk = /\/assets\/node-page-.*\.js$/;
  await page.route(chunk, (route) => route.fulfill({ status: 404, body: "gone" }));
  await linkOf(page, "Node").click();
  await page.getByText("This page could not be loaded.").waitFor({ timeout: PATIENCE_MS });
  await requireAccessible(page, "chunk-missing");
  await go(page, "Network");
  await linkOf(page, "Node").click();
  const reload = page.getByRole("button", { name: "Reload the page" });
  await reload.waitFor({ timeout: PATIENCE_MS });
  await page.unroute(chunk);
  await reload.click();
  await heading(page, "Node");
});

test("a page whose part was missing while the gateway was away is shown when it is back", async (context) => {
  if (!dashboard().browser) return context.skip();
  const { page } = await dashboard().signedIn();
  let isAway = true;
  await page.route(/\/dashboard\/(?:assets\/node-page-.*\.js)?$/, (route) =>
    isAway ? route.abort("connectionrefused") : route.fallback(),
  );
  await linkOf(page, "Node").click();
  await page.getByText("This page could not be loaded.").waitFor();
  isAway = false;
  await heading(page, "Node");
});

test("lists that are read without the cache of queries are read again when the gateway is back", async (context) => {
  if (!dashboard().browser) return context.skip();
  const { page } = await dashboard().signedIn();
  let isAway = true;
  await page.route(/\/graphql$|\/v1\/files/, (route) =>
    isAway ? route.abort("connectionrefused") : route.fallback(),
  );
  const away = page.getByText("The gateway cannot be reached.").first();
  for (const [name, tab] of [["Models"], ["Requests"], ["Batches", "Files"]] as const) {
    isAway = true;
    await go(page, name);
    if (tab) await page.getByRole("tab", { name: tab }).click();
    await away.waitFor();
    isAway = false;
    await page.evaluate("dispatchEvent(new Event('online'))");
    await away.waitFor({ state: "detached" });
    await page.getByRole("table").or(page.locator(".empty")).first().waitFor();
  }
});

test("a cut network is said at once, and what was opened meanwhile loads when the network is back", async (context) => {
  if (!dashboard().browser) return context.skip();
  const { page } = await dashboard().signedIn();
  const banner = page.getByRole("status").filter({ hasText: "You are offline." });
  await page.context().setOffline(true);
  await banner.waitFor();
  await linkOf(page, "Providers").click();
  await requireAccessible(page, "offline");
  await page.context().setOffline(false);
  await heading(page, "Providers");
  await page.getByRole("row").nth(1).waitFor();
  await banner.waitFor({ state: "hidden" });
});

test("the palette opens, finds a page and a request, and closes by keyboard alone", async (context) => {
  if (!dashboard().browser) return context.skip();
  const { page, faults } = await dashboard().signedIn();
  const palette = page.getByRole("dialog", { name: "Search" });
  const search = page.getByRole("button", { name: /^Search/ });
  await search.focus();
  await page.keyboard.press("Control+k");
  await palette.getByRole("combobox").waitFor();
  await requireAccessible(page, "palette");
  await page.keyboard.press("Escape");
  await palette.waitFor({ state: "detached" });
  await expect.poll(() => focused(page)).toMatch(/^Search/);
  await page.keyboard.press("Control+k");
  await palette.getByRole("combobox").waitFor();
  await page.keyboard.type("webho");
  await palette.getByRole("option", { name: "Webhooks", selected: true }).waitFor();
  await page.keyboard.press("Enter");
  await heading(page, "Webhooks");

  const { request_id: id } = await ask(dashboard().product.sk);
  await page.keyboard.press("Control+k");
  await palette.getByRole("combobox").fill(id.slice(0, 20));
  await palette.getByRole("option", { name: id }).waitFor();
  await page.keyboard.press("Enter");
  await heading(page, "Request");
  await page.getByText(id).first().waitFor();
  expect(faults).toEqual([]);
});

test("an error is shown at its field, which gets the focus, whether the form or the server finds it", async (context) => {
  if (!dashboard().browser) return context.skip();
  const { page, faults } = await dashboard().signedIn();
  await go(page, "API keys");
  const opener = page.getByRole("button", { name: "Create a key" });
  await opener.click();
  const dialog = page.getByRole("dialog");
  const error = async (label: string | RegExp) => {
    const field = dialog.getByLabel(label);
    await expect.poll(() => field.getAttribute("aria-invalid")).toBe("true");
    const ids = (await field.getAttribute("aria-describedby")) ?? "";
    const texts = ids.split(/\s+/).map((id) => page.locator(`[id="${id}"]`).textContent());
    return (await Promise.all(texts)).join(" ");
  };
  await dialog.getByLabel(/^Limit in /).fill("two");
  await dialog.getByRole("button", { name: "Create", exact: true }).click();
  expect(await error("Name")).toContain("A name");
  expect(await error(/^Limit in /)).toContain("an amount such as 2.5");
  expect(await page.locator(":focus").getAttribute("name")).toBe("name");
  await requireAccessible(page, "field-errors");

  // The form accepts it; the server names the field of its input.
  await dialog.getByLabel("Name").fill("refused");
  await dialog.getByLabel(/^Limit in /).fill("");
  await dialog.getByLabel("Expires").fill("2001-01-01T00:00");
  await dialog.getByRole("button", { name: "Create", exact: true }).click();
  expect(await error("Expires")).toMatch(/future|past/);
  expect(await page.locator(":focus").getAttribute("name")).toBe("expiresAt");
  await page.keyboard.press("Escape");
  await dialog.waitFor({ state: "detached" });
  await expect.poll(() => focused(page)).toBe("Create a key");
  expect(faults).toEqual([]);
});

test("colours and columns are as chosen after a reload, and a filter is part of the address", async (context) => {
  if (!dashboard().browser) return context.skip();
  const { page, faults } = await dashboard().signedIn({ colorScheme: "light" });
  const scheme = () => page.evaluate("document.documentElement.dataset.mantineColorScheme");
  expect(await scheme()).toBe("light");
  await page.getByRole("button", { name: /^Colours/ }).click();
  await page.getByRole("menuitem", { name: "Dark" }).click();
  await go(page, "API keys");
  const head = page.getByRole("columnheader", { name: "Rules" });
  await head.waitFor();
  await page.getByRole("button", { name: "Columns" }).click();
  await page.getByRole("checkbox", { name: "Rules" }).uncheck();
  await head.waitFor({ state: "detached" });
  await page.keyboard.press("Escape");
  await page.getByLabel("Include revoked and expired keys").check();
  await expect.poll(() => new URL(page.url()).searchParams.get("all")).toBe("true");
  await page.reload();
  await page.getByRole("columnheader", { name: /^Spent \/ limit/ }).waitFor();
  expect(await scheme()).toBe("dark");
  expect(await head.count()).toBe(0);
  expect(await page.getByLabel("Include revoked and expired keys").isChecked()).toBe(true);
  expect(faults).toEqual([]);
});

test("the rows of a list are saved as CSV with exact amounts, and no text of theirs is a formula", async (context) => {
  if (!dashboard().browser) return context.skip();
  const { page, faults } = await dashboard().signedIn();
  await go(page, "API keys");
  await page.getByRole("button", { name: "Create a key" }).click();
  await page.getByLabel("Name").fill('=1+1,"2"');
  await page.getByRole("button", { name: "Create", exact: true }).click();
  const dialog = page.getByRole("dialog", { name: "Your new key" });
  const trace = await ask((await dialog.locator("code").first().textContent()) ?? "");
  await dialog.getByRole("button", { name: "Copy" }).first().click();
  await dialog.getByRole("button", { name: "Done" }).click();
  await go(page, "Requests");
  await page.getByLabel("ID begins with").fill(trace.request_id);
  await expect.poll(() => page.getByRole("table").locator("tbody tr").count()).toBe(1);
  const [download] = await Promise.all([
    page.waitForEvent("download"),
    page.getByRole("button", { name: "CSV" }).click(),
  ]);
  expect(download.suggestedFilename()).toBe("requests.csv");
  const [head, row] = (await readFile(await download.path(), "utf8")).split("\r\n");
  expect(head).toMatch(/^Created,ID,Model,.*,"Cost, 0G",.*,Evidence,Tags$/);
  expect(row).toContain(`,${trace.request_id},devnet-chat,`);
  expect(row).toContain(`,"'=1+1,""2""",`);
  expect(row).toContain(`,${toPlainTokens(trace.billing.total_cost)},`);
  expect(faults).toEqual([]);
});
