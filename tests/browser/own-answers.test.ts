// @module-tag large
import type { Page, Route } from "playwright-core";
import { beforeAll, expect, test } from "vitest";
import { go, heading, useDashboard } from "./signed-in.ts";

const dashboard = useDashboard();

/** Answers a chat whose question is unique, and stores the answer for a day. Resolves to the id of the request. */
async function chat(question: string): Promise<string> {
  const response = await fetch(`${dashboard().product.origin}/v1/chat/completions`, {
    method: "POST",
    headers: {
      authorization: `Bearer ${dashboard().product.sk}`,
      "content-type": "application/json",
      "x-0g-cache": "86400",
      "x-tag": "team=sea",
    },
    body: JSON.stringify({ model: "devnet-chat", messages: [{ role: "user", content: question }] }),
  });
  expect(response.status).toBe(200);
  return ((await response.json()) as { readonly x_0g_trace: { readonly request_id: string } }).x_0g_trace
    .request_id;
}

let first: string;
let stored: string;
beforeAll(async () => {
  first = await chat("Where is the sea?");
  stored = await chat("Where is the sea?");
});

type Variables = Readonly<Record<string, unknown>>;

/** Holds the queries of a name that `isHeld`, until the returned function is called. */
async function hold(page: Page, name: string, isHeld: (variables: Variables) => boolean) {
  const held: Route[] = [];
  let isOpen = false;
  await page.route("**/graphql", async (route) => {
    const { operationName, variables } = route.request().postDataJSON();
    if (isOpen || operationName !== name || !isHeld(variables)) return route.fallback();
    held.push(route);
  });
  return {
    held: () => held.length,
    async release() {
      isOpen = true;
      for (const route of held.splice(0)) await route.fallback();
    },
  };
}

/** Opens what the palette finds for the whole id of a request. */
async function openRequest(page: Page, id: string): Promise<void> {
  await page.keyboard.press("Control+k");
  const palette = page.getByRole("dialog", { name: "Search" });
  await palette.getByRole("combobox").fill(id);
  await palette.getByRole("option", { name: id }).waitFor();
  await page.keyboard.press("Enter");
  await palette.waitFor({ state: "detached" });
}

test("the end of a range outlasts every other filter and the order", async (context) => {
  if (!dashboard().browser) return context.skip();
  const { page } = await dashboard().signedIn();
  const until = "2020-02-01T00:00";
  await page.goto(
    `${dashboard().product.origin}/dashboard/requests?range=custom&from=2020-01-01T00:00&before=${until}`,
  );
  const inUrl = (name: string) => new URL(page.url()).searchParams.get(name);
  await page.getByText("No request matches.").waitFor();
  await page.getByLabel("State", { exact: true }).selectOption("completed");
  await expect.poll(() => inUrl("status")).toBe("COMPLETED");
  expect(inUrl("before")).toBe(until);
  expect(await page.getByLabel("Until", { exact: true }).inputValue()).toBe(until);
});

test("the page of a request shows nothing of the request that was open before", async (context) => {
  if (!dashboard().browser) return context.skip();
  const { page } = await dashboard().signedIn();
  await page.goto(`${dashboard().product.origin}/dashboard/requests/${stored}`);
  const receipt = (id: string) => page.getByText(`receipt-${id}.json`);
  await receipt(stored).waitFor();
  const request = await hold(page, "Request", ({ id }) => id === first);
  await openRequest(page, first);
  await page.getByRole("navigation", { name: "Breadcrumb" }).getByText(first).waitFor();
  await expect.poll(request.held).toBe(1);
  expect(await receipt(stored).count()).toBe(0);
  await request.release();
  await receipt(first).waitFor();
});

test("the price of a request has no line of the request that was open before", async (context) => {
  if (!dashboard().browser) return context.skip();
  const { page } = await dashboard().signedIn();
  await page.goto(`${dashboard().product.origin}/dashboard/requests/${stored}`);
  const price = page.getByRole("region", { name: "Price", exact: true });
  await expect.poll(() => price.getByRole("row", { name: /^Stored answer/ }).count()).toBe(2);
  await page.getByRole("link", { name: first }).click();
  await page.getByText(`receipt-${first}.json`).waitFor();
  expect(await price.getByRole("row", { name: /^Stored answer/ }).count()).toBe(0);
});

test("the figures of the overview are called by the range that they are of", async (context) => {
  if (!dashboard().browser) return context.skip();
  const { page } = await dashboard().signedIn();
  const spent = page.locator(".stat", { hasText: "Spent" });
  await spent.getByText("in the last 7 days").waitFor();
  await spent.getByText("per request").waitFor();
  const overview = await hold(page, "Overview", () => true);
  await page.getByText("Custom", { exact: true }).click();
  await page.getByLabel("To, the last day in UTC").fill("2020-01-31");
  await expect.poll(() => new URL(page.url()).searchParams.get("to")).toBe("2020-01-31");
  await expect.poll(overview.held).toBeGreaterThan(0);
  // Painted with the new range.
  await page.evaluate("new Promise((done) => requestAnimationFrame(() => setTimeout(done)))");
  expect(await spent.innerText()).toMatch(/from \d{4}-\d\d-\d\d to 2(?!020)[\s\S]*per request/);
  expect(await page.getByText("Nothing was spent").count()).toBe(0);
  await overview.release();
  await page.getByText(/^Nothing was spent from .* to 2020-01-31/).waitFor();
  await spent.getByText("2020-01-31").waitFor();
});

test("the spend of a tag is shown for the range that is chosen, and not before it is read", async (context) => {
  if (!dashboard().browser) return context.skip();
  const { page } = await dashboard().signedIn();
  await go(page, "Tags and budgets");
  const row = page.getByRole("row", { name: /team=sea/ });
  await row.first().waitFor();
  const spend = await hold(page, "TagSpend", () => true);
  await page.getByLabel("Time", { exact: true }).selectOption("all");
  await expect.poll(spend.held).toBeGreaterThan(0);
  expect(await row.count()).toBe(0);
  await spend.release();
  await row.first().waitFor();
});

test("a list that could not be read is not called empty", async (context) => {
  if (!dashboard().browser) return context.skip();
  const { page } = await dashboard().signedIn();
  let isBroken = true;
  await page.route("**/graphql", async (route) => {
    if (!isBroken || route.request().postDataJSON().operationName !== "Overview") return route.fallback();
    const response = await route.fetch();
    const { data } = await response.json();
    const account = { ...data.viewer.account, requests: null, failures: null };
    const errors = [{ message: "The subgraph is away.", path: ["viewer", "account", "requests"] }];
    await route.fulfill({ response, json: { data: { viewer: { ...data.viewer, account } }, errors } });
  });
  await page.reload();
  await heading(page, "Overview");
  await page.getByRole("region", { name: "Latest failures" }).waitFor();
  await page.getByRole("region", { name: "Latest requests" }).getByRole("alert").waitFor();
  expect(await page.getByText("No requests yet.").count()).toBe(0);
  expect(await page.getByText(/^No request failed/).count()).toBe(0);
  isBroken = false;
  await page.getByRole("table").getByText("devnet-chat").first().waitFor();
});

test("the keys of another page are not said to have spent nothing while their spending is read", async (context) => {
  if (!dashboard().browser) return context.skip();
  const { origin, mk } = dashboard().product;
  for (let n = 0; n < 21; n++) {
    const made = await fetch(`${origin}/v1/api-keys`, {
      method: "POST",
      headers: { authorization: `Bearer ${mk}`, "content-type": "application/json" },
      body: JSON.stringify({ name: `key ${n}` }),
    });
    expect(made.ok).toBe(true);
  }
  const { page } = await dashboard().signedIn();
  await go(page, "API keys");
  await page
    .getByRole("img", { name: /^0 .* in 30 days/ })
    .first()
    .waitFor();
  const spend = await hold(page, "KeySpend", () => true);
  await page.getByRole("button", { name: "Older →" }).click();
  const row = page.getByRole("row").filter({ hasText: "demo" });
  await row.waitFor();
  await expect.poll(spend.held).toBeGreaterThan(0);
  expect(await row.getByRole("img", { name: /^0 / }).count()).toBe(0);
  await spend.release();
  await row.getByRole("img", { name: /^0\.\d+ .* in 30 days/ }).waitFor();
});

test("the evidence of an answer is shown although it was written after the request had ended", async (context) => {
  if (!dashboard().browser) return context.skip();
  const { page } = await dashboard().signedIn();
  let isChecked = false;
  await page.route("**/graphql", async (route) => {
    if (route.request().postDataJSON().operationName !== "Request") return route.fallback();
    const response = await route.fetch();
    const { data } = await response.json();
    const checkedAt = new Date().toISOString();
    const checked = { verdict: "MISSING", signer: null, expectedSigner: null, checkedAt };
    const bound = { requestBound: null, responseBound: null, __typename: "RequestEvidence" };
    const request = { ...data.request, evidence: isChecked ? { ...checked, ...bound } : null };
    await route.fulfill({ response, json: { data: { request } } });
    isChecked = true;
  });
  const id = await chat(`What is new at ${Date.now()}?`);
  await page.goto(`${dashboard().product.origin}/dashboard/requests/${id}`);
  await page.getByText("The provider gave no signature of this answer.").waitFor();
});
