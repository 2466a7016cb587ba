import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { PATIENCE_MS, requireAccessible } from "../support/clients/browser.ts";
import { rest } from "../support/clients/rest-client.ts";
import { go, heading, useDashboard } from "./signed-in.ts";

const dashboard = useDashboard();

async function chat(key: string): Promise<void> {
  const messages = [{ role: "user", content: "The sea?" }];
  const answer = await rest(dashboard().product.origin, "/v1/chat/completions", key, {
    body: { model: "devnet-chat", messages },
  });
  expect(answer.status, JSON.stringify(answer)).toBe(200);
}

/** A step of the checklist, as its items say. */
function step(page: Page, title: string) {
  return page.getByRole("listitem").filter({ has: page.getByText(title, { exact: true }) });
}

function isDone(page: Page, title: string) {
  return step(page, title).getByRole("img", { name: "Done", exact: true });
}

/** The figure with this name. */
function figure(page: Page, name: string) {
  return page.getByRole("term").filter({ hasText: name }).locator("xpath=following-sibling::*[1]");
}

test("an empty account's first steps tick themselves: a key is put into the code, which then works as it is", async (context) => {
  if (!dashboard().browser) return context.skip();
  const { page, faults } = await dashboard().signedIn();
  await page.getByRole("heading", { name: "Get started" }).waitFor();
  await isDone(page, "Fund the account").waitFor();
  await isDone(page, "Create an API key").waitFor();
  expect(await isDone(page, "Make the first call").count()).toBe(0);
  await page.getByText("Nothing was spent in the last 7 days.").waitFor();
  await requireAccessible(page, "overview-empty");

  const code = page.getByRole("region", { name: "First call: curl" });
  await code.getByText("sk-...").waitFor();
  await page.getByRole("button", { name: "Create a key for this code" }).click();
  await expect.poll(() => code.textContent()).toMatch(/sk-\w{49}/);
  const [secret = ""] = /sk-\w{49}/.exec((await code.textContent()) ?? "") ?? [];
  await chat(secret);
  await isDone(page, "Make the first call").waitFor();

  await page.getByRole("button", { name: "Subscribe on this page" }).click();
  // The event of the first call's settlement may complete the step before the button can be seen.
  const isSetUp = page.getByRole("heading", { name: "You are set up" });
  await page.getByRole("button", { name: "Subscribed: make a request" }).or(isSetUp).waitFor();
  await expect
    .poll(
      async () => {
        if ((await isSetUp.count()) === 0) await chat(secret);
        return isSetUp.count();
      },
      { timeout: PATIENCE_MS, interval: 2_000 },
    )
    .toBe(1);
  await page.getByRole("button", { name: "Hide" }).click();
  await page.reload();
  await heading(page, "Overview");
  await page.getByText(/^Lasts .* at this rate/).waitFor();
  expect(await page.getByRole("heading", { name: /Get started|You are set up/ }).count()).toBe(0);
  expect(await page.content()).not.toContain(secret);
  expect(faults).toEqual([]);
});

test("spending is divided by model, key and provider, and the range and the division are in the address", async (context) => {
  if (!dashboard().browser) return context.skip();
  await chat(dashboard().product.sk);
  const { page, faults } = await dashboard().signedIn();
  const chart = page.getByRole("table", { name: /^Spend, / });
  await chart.getByRole("columnheader", { name: "devnet-chat" }).waitFor();
  expect(await chart.getByRole("row").count()).toBe(8);
  await expect.poll(() => figure(page, "Time to first token, p50").textContent()).toMatch(/^[\d.]+ m?s$/);
  await expect.poll(() => figure(page, "Requests").textContent()).toMatch(/^[1-9]/);

  await page.getByText("Key", { exact: true }).click();
  await chart.getByRole("columnheader", { name: "demo", exact: true }).waitFor();
  await page.getByText("24 h", { exact: true }).click();
  await expect.poll(() => chart.getByRole("row").count()).toBe(25);
  await page.getByText("Provider", { exact: true }).click();
  await chart.getByRole("columnheader", { name: /^0x\w{6}…\w{4}$/ }).waitFor();
  expect(Object.fromEntries(new URL(page.url()).searchParams)).toEqual({ range: "24h", by: "provider" });
  await page.reload();
  await chart.getByRole("columnheader", { name: /^0x/ }).waitFor();
  expect(await page.getByRole("radio", { name: "24 h" }).isChecked()).toBe(true);

  await page.getByText("Custom", { exact: true }).click();
  await page.getByLabel("From, the first day in UTC").fill("2020-01-01");
  await page.getByLabel("To, the last day in UTC").fill("2020-01-31");
  await page.getByText("Nothing was spent from 2020-01-01 to 2020-01-31.").waitFor();
  expect(new URL(page.url()).searchParams.get("from")).toBe("2020-01-01");
  expect(faults).toEqual([]);
});

test("the days of a range are entered by keyboard, digit by digit", async (context) => {
  if (!dashboard().browser) return context.skip();
  const { page, faults } = await dashboard().signedIn();
  await page.goto(`${dashboard().product.origin}/dashboard/?range=custom`);
  const from = page.getByLabel("From, the first day in UTC");
  await from.focus();
  for (const digit of "11152020") {
    await page.keyboard.type(digit);
    // Whatever is drawn after each digit.
    await page.evaluate("new Promise(requestAnimationFrame)");
  }
  await expect.poll(() => new URL(page.url()).searchParams.get("from")).toBe("2020-11-15");
  await page.keyboard.press("Shift+Tab");
  await page.keyboard.type("2");
  await page.keyboard.press("Tab");
  await page.keyboard.press("Tab");
  await expect.poll(() => new URL(page.url()).searchParams.get("from")).toBe("2020-11-02");
  expect(faults).toEqual([]);
});

test("the balance on the page of deposits follows requests", async (context) => {
  if (!dashboard().browser) return context.skip();
  const { page, faults } = await dashboard().signedIn();
  await go(page, "Deposits");
  const available = figure(page, "Available");
  await expect.poll(() => available.textContent()).toMatch(/^[1-9]/);
  const before = await available.textContent();
  await chat(dashboard().product.sk);
  await expect.poll(() => available.textContent()).not.toBe(before);
  expect(faults).toEqual([]);
});

test("a query that fails is said, and tried again", async (context) => {
  if (!dashboard().browser) return context.skip();
  const { page } = await dashboard().signedIn();
  await page.route("**/graphql", async (route) => {
    if (!route.request().postData()?.includes("query Overview")) return route.continue();
    await route.fulfill({ status: 503, json: { errors: [{ message: "The database is busy." }] } });
  });
  await page.reload();
  await page.getByText("The database is busy.").waitFor();
  await page.unroute("**/graphql");
  await page.getByRole("button", { name: "Try again" }).click();
  await page.getByText("Available", { exact: true }).waitFor();
});
