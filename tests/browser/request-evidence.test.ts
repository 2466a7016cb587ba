// @module-tag large
import { readFile } from "node:fs/promises";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Trace } from "../../src/inference/billing/trace.ts";
import { openBrowser, openPage, requireAccessible } from "../support/clients/browser.ts";
import { rest } from "../support/clients/rest-client.ts";
import type { OnEnd } from "../support/servers/database.ts";
import { type Product, startProduct } from "./product.ts";

const ends: (() => Promise<void>)[] = [];
const onEnd: OnEnd = (end) => void ends.unshift(end);
const RECEIPTS = /\/v1\/receipts\//;

let product: Product;
let browser: Browser | undefined;

beforeAll(async () => {
  [browser, product] = await Promise.all([openBrowser(onEnd), startProduct(onEnd)]);
});
afterAll(async () => {
  for (const end of ends) await end();
});

/** The page of a new request with this evidence, after signing in. */
async function requestPage(more: object, options: Parameters<typeof openPage>[2] = {}) {
  const messages = [{ role: "user", content: "The sea?" }];
  const { body } = await rest<{ readonly x_0g_trace: Trace }>(
    product.origin,
    "/v1/chat/completions",
    product.sk,
    { body: { model: "devnet-chat", messages, max_tokens: 4, ...more } },
  );
  const { request_id: id } = body.x_0g_trace;
  const { page, faults } = await openPage(browser as Browser, product.origin, options);
  await page.goto(`${product.origin}/dashboard/`);
  await page.getByRole("button", { name: "Sign in with the development wallet" }).click();
  await page.getByRole("heading", { level: 1, name: "Overview" }).waitFor();
  await page.goto(`${product.origin}/dashboard/requests/${id}`);
  await page.getByRole("heading", { level: 1, name: "Request" }).waitFor();
  const check = (title: string) => page.getByRole("listitem").filter({ hasText: title });
  await check("Provider attestation").waitFor();
  return { page, faults, id, check };
}

test("the page of a request says what was checked of its answer, and what each result means", async (context) => {
  if (!browser) return context.skip();
  for (const options of [
    { colorScheme: "light" },
    { colorScheme: "dark", viewport: { width: 375, height: 812 } },
  ] as const) {
    const { page, faults, check } = await requestPage({ verify_tee: true }, options);
    for (const title of ["The provider's signer", "This answer", "This request"])
      expect(await check(title).textContent()).toContain("passed");
    expect(await check("This answer").textContent()).toContain("exactly the bytes that arrived");
    const enclave = await check("Provider attestation").textContent();
    expect(enclave).toMatch(/not attested.*the quote has no Intel platform certificate/);
    await requireAccessible(page, `request-${options.colorScheme}`);
    const width = await page.evaluate<number>("document.documentElement.scrollWidth - innerWidth");
    expect(width, "the page is wider than its window").toBeLessThanOrEqual(0);
    expect(faults).toEqual([]);
  }
});

test("a request without verification says so, and how to get it", async (context) => {
  if (!browser) return context.skip();
  const { page, check } = await requestPage({});
  await page.getByText("Send verify_tee: true").waitFor();
  expect(await check("This answer").count()).toBe(0);
});

test("the receipt is downloaded byte for byte, with the command that verifies it beside it", async (context) => {
  if (!browser) return context.skip();
  const { page, id } = await requestPage({});
  const bundle = '{"receipt": {"version": "zerograph-receipt/v1"}}\n';
  const asked: string[] = [];
  await page.route(RECEIPTS, (route) => {
    asked.push(new URL(route.request().url()).pathname);
    return route.fulfill({ contentType: "application/json", body: bundle });
  });
  await page.getByText(`npm run -s verify -- receipt-${id}.json`).waitFor();
  const [download] = await Promise.all([
    page.waitForEvent("download"),
    page.getByRole("button", { name: "Download the receipt" }).click(),
  ]);
  expect(download.suggestedFilename()).toBe(`receipt-${id}.json`);
  expect(await readFile(await download.path(), "utf8")).toBe(bundle);
  expect(asked).toEqual([`/v1/receipts/${id}`]);
});

test.each([
  [404, "{}", "This request has no receipt."],
  [503, '{"error":{"message":"The receipt is not in the log yet."}}', "The receipt is not in the log yet."],
  [500, "<html>", "The receipt could not be read (status 500)."],
])("a receipt that cannot be had (%i) is explained", async (status, body, text) => {
  if (!browser) return;
  const { page } = await requestPage({});
  await page.route(RECEIPTS, (route) => route.fulfill({ status, contentType: "application/json", body }));
  await page.getByRole("button", { name: "Download the receipt" }).click();
  await page
    .getByRole("region", { name: /^Notifications/ })
    .getByText(text)
    .waitFor();
});

test("a key that requires evidence is created on the page, and shows it when it is edited", async (context) => {
  if (!browser) return context.skip();
  const { page } = await requestPage({});
  const pages = page.getByRole("navigation", { name: "Pages" });
  await pages.getByRole("link", { name: "API keys" }).click();
  await page.getByRole("button", { name: "Create a key" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Name").fill("proved");
  await dialog.getByLabel("Evidence of providers").selectOption("signed answers");
  await dialog.getByText("Only providers that recently proved an answer are used").waitFor();
  await dialog.getByRole("button", { name: "Create", exact: true }).click();
  const copy = dialog.getByRole("button", { name: "Copy" }).first();
  const failure = dialog.getByRole("alert");
  await copy.or(failure).waitFor();
  expect(await failure.allTextContents()).toEqual([]);
  await copy.click();
  await dialog.getByRole("button", { name: "Done" }).click();
  const evidence = async () => {
    await page.getByRole("button", { name: "Edit proved" }).click();
    return dialog.getByLabel("Evidence of providers").inputValue();
  };
  expect(await evidence()).toBe("BOUND");
  await dialog.getByLabel("Evidence of providers").selectOption("not required");
  await dialog.getByRole("button", { name: "Save" }).click();
  await dialog.waitFor({ state: "detached" });
  await page.reload();
  expect(await evidence()).toBe("");
});
