// @module-tag large
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, onTestFinished, test } from "vitest";
import { DEMO_USER } from "../../src/devnet/chain/accounts.ts";
import { openPage, requireAccessible } from "../support/clients/browser.ts";
import { ask } from "../support/clients/graph-client.ts";
import type { OnEnd } from "../support/servers/database.ts";
import { freePort } from "../support/servers/postgres.ts";
import { answerWith, startReceiver } from "../support/webhooks/receiver.ts";
import { go, heading, linkOf, useDashboard } from "./signed-in.ts";

const folder = mkdtempSync(join(tmpdir(), "zerograph-operations-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** A provider that nobody can reach, so that its circuit opens. */
const providersFile = join(folder, "providers.json");
const offer = { id: "away", pricing: { prompt: "1", completion: "1" } };
const away = { name: "away", url: `http://127.0.0.1:${await freePort()}`, models: [offer] };
writeFileSync(providersFile, JSON.stringify({ providers: [away] }));

const dashboard = useDashboard({
  OPERATORS: DEMO_USER.address,
  GRAFANA_URL: "https://grafana.example.com/d/zerograph",
  STATUS_PAGE: "on",
  PROVIDERS_FILE: providersFile,
  PROVIDER_COOL_DOWN_MS: "3600000",
});
const others = useDashboard({ OPERATORS: `0x${"0e".repeat(20)}` });

/** Lets the circuit of the provider open that nobody can reach. */
async function openCircuit(): Promise<void> {
  const { origin, sk } = dashboard().product;
  for (let n = 0; n < 4; n++)
    await fetch(`${origin}/v1/chat/completions`, {
      method: "POST",
      headers: { authorization: `Bearer ${sk}`, "content-type": "application/json" },
      body: JSON.stringify({ model: "away", messages: [{ role: "user", content: "The sea?" }] }),
    });
}

test("an operator sees processes, circuits, queues and webhooks, and acts on them after a confirmation", async (context) => {
  if (!dashboard().browser) return context.skip();
  const { origin, mk } = dashboard().product;
  await openCircuit();
  const receiver = await startReceiver(onTestFinished as OnEnd, answerWith(410));
  const created = await ask(
    origin,
    mk,
    `mutation { createWebhook(input: { name: "orders", url: "${receiver.url}", events: [API_KEY_CREATED] }) { userErrors { message } } }`,
  );
  expect(created.data.createWebhook.userErrors).toEqual([]);
  await ask(origin, mk, 'mutation { createApiKey(input: { name: "one" }) { userErrors { message } } }');

  const { page, faults } = await dashboard().signedIn();
  await go(page, "Operations");
  const region = (name: string) => page.getByRole("region", { name, exact: true });
  const process = region("Processes").first().locator("tbody tr");
  await process.getByText("reporting").waitFor();
  expect(await process.count()).toBe(1);
  expect(await page.getByRole("link", { name: "Grafana" }).getAttribute("href")).toBe(
    "https://grafana.example.com/d/zerograph",
  );
  const circuit = region("Circuits").locator("tbody tr").filter({ hasText: "away" });
  await circuit.getByText("unavailable").waitFor();
  await circuit.getByText("unreachable").waitFor();
  await circuit.getByText("1 of 1").waitFor();
  await region("Watchers").getByText("deposits").waitFor();
  await requireAccessible(page, "operations");
  await page.emulateMedia({ colorScheme: "dark" });
  await requireAccessible(page, "operations-dark");
  await page.setViewportSize({ width: 390, height: 844 });
  await requireAccessible(page, "operations-narrow");
  expect(await page.evaluate("document.documentElement.scrollWidth <= innerWidth")).toBe(true);
  await page.setViewportSize({ width: 1_280, height: 900 });

  const dialog = page.getByRole("dialog");
  await circuit.getByRole("button", { name: /^Use again: away of 0x/ }).click();
  await requireAccessible(page, "operations-confirm");
  await dialog.getByRole("button", { name: "Use again" }).click();
  await page.getByText("Every provider receives requests").waitFor();

  // A wrong address is said at the field; the address of nobody by the server.
  await page.getByRole("button", { name: "Pause a provider" }).click();
  await dialog.getByLabel("Provider").fill("0x12");
  await dialog.getByRole("button", { name: "Pause" }).click();
  await dialog.getByText("0x and 40 hexadecimal digits").waitFor();
  await dialog.getByLabel("Provider").fill(`0x${"1".repeat(40)}`);
  await dialog.getByRole("button", { name: "Pause" }).click();
  await dialog.getByText("There is no such provider.").waitFor();
  const { models } = (await (await fetch(`${origin}/status.json`)).json()) as {
    models: { id: string; providers: { address: string }[] }[];
  };
  const address = models.find(({ id }) => id === "away")?.providers[0]?.address ?? "";
  await dialog.getByLabel("Provider").fill(address);
  await dialog.getByLabel("For").selectOption("3600");
  await dialog.getByRole("button", { name: "Pause" }).click();
  await circuit.getByText("paused").waitFor();

  await page.getByRole("button", { name: "Enable again: orders" }).click();
  receiver.answer = answerWith(204);
  await dialog.getByRole("button", { name: "Enable" }).click();
  await page.getByText("Every webhook is delivered to.").waitFor();
  await expect.poll(() => receiver.received.length).toBeGreaterThan(1);

  await page.getByRole("button", { name: "Check now" }).click();
  await dialog.getByRole("button", { name: "Check" }).click();
  await region("Ledger").getByText("exact").waitFor();
  await page.getByRole("button", { name: "Release expired holds" }).click();
  await page.keyboard.press("Escape");
  await dialog.waitFor({ state: "detached" });
  await page.getByRole("link", { name: "Node", exact: true }).last().click();
  await heading(page, "Node");
  expect(faults).toEqual([]);
});

test("others do not find the page, and its address says that they may not read it", async (context) => {
  if (!others().browser) return context.skip();
  const { page } = await others().signedIn();
  await linkOf(page, "Network").waitFor();
  expect(await linkOf(page, "Operations").count()).toBe(0);
  await page.goto(`${others().product.origin}/dashboard/operations`);
  await heading(page, "Operations");
  await page.getByText("No permission").waitFor();
  await page.getByText("Only an operator of this service may do this (OPERATORS).").waitFor();
  await requireAccessible(page, "operations-refused");
  expect(await page.getByRole("button", { name: "Check now" }).count()).toBe(0);
});

test("the status page is readable by everyone, without a script", async (context) => {
  const { browser, product } = dashboard();
  if (!browser) return context.skip();
  const { page, faults } = await openPage(browser, product.origin);
  await page.goto(`${product.origin}/status`);
  await page.getByRole("heading", { level: 1 }).waitFor();
  await page.getByText("devnet-chat", { exact: true }).first().waitFor();
  await page.locator("summary").first().click();
  await page
    .getByText(/^0x[0-9a-fA-F]{40}$/)
    .first()
    .waitFor();
  await requireAccessible(page, "status");
  expect(await page.locator("script").count()).toBe(0);
  expect(faults).toEqual([]);
});
