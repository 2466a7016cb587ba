// @module-tag large
import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { go, heading, linkOf, useDashboard } from "./signed-in.ts";

const dashboard = useDashboard();

/** Resolves to the id of the request. */
async function chat(): Promise<string> {
  const response = await fetch(`${dashboard().product.origin}/v1/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${dashboard().product.sk}`, "content-type": "application/json" },
    body: JSON.stringify({ model: "devnet-chat", messages: [{ role: "user", content: "The sea?" }] }),
  });
  expect(response.status).toBe(200);
  return ((await response.json()) as { readonly x_0g_trace: { readonly request_id: string } }).x_0g_trace
    .request_id;
}

/** Fails the queries of this name from now on, as without a network. */
async function failQuery(page: Page, name: string): Promise<void> {
  await page.route("**/graphql", (route) =>
    new RegExp(`query ${name}\\b`).test(route.request().postData() ?? "") ? route.abort() : route.fallback(),
  );
}

test("a list that is left open over midnight dates the entries of the day before", async (context) => {
  if (!dashboard().browser) return context.skip();
  await chat();
  // The clock begins in the last minute of a day: the sign-in has the time of the gateway.
  const { page } = await dashboard().signedIn({ timezoneId: "UTC" });
  await page.clock.install();
  const day = await page.evaluate<string>("new Date().toISOString().slice(0, 10)");
  await page.clock.pauseAt(`${day}T23:59:45Z`);
  await page.goto(`${dashboard().product.origin}/dashboard/requests`);
  const time = page.locator("tbody time").first();
  await time.waitFor();
  await page.clock.runFor(5_000);
  expect(await time.innerText()).toMatch(/^\d\d:\d\d:\d\d$/);
  await page.clock.runFor(25_000);
  await expect.poll(() => time.innerText()).toMatch(/^\d{1,2} [A-Z][a-z]{2}, \d\d:\d\d:\d\d$/);
});

test("the last hours and days of a page that is left open move with the clock", async (context) => {
  if (!dashboard().browser) return context.skip();
  const { page } = await dashboard().signedIn();
  await page.clock.install();
  for (const [path, operation, length] of [
    ["?range=24h", "Overview", "02:00:00"],
    ["tags?range=day", "TagSpend", "02:00:00"],
    ["keys", "KeySpend", "24:00:00"],
  ] as const) {
    const startOfRange = async () => {
      const isRead = (body: string | null) => body !== null && JSON.parse(body).operationName === operation;
      const request = await page.waitForRequest((one) => isRead(one.postData()));
      await request.response();
      return Date.parse(request.postDataJSON().variables.from);
    };
    const first = startOfRange();
    await page.goto(`${dashboard().product.origin}/dashboard/${path}`);
    const before = await first;
    const later = startOfRange();
    await page.clock.fastForward(length);
    await page.clock.runFor(16_000);
    expect((await later) - before, path).toBeGreaterThanOrEqual(3_600_000);
  }
});

test("the last hour of the requests begins when it is chosen", async (context) => {
  if (!dashboard().browser) return context.skip();
  const { page } = await dashboard().signedIn();
  await page.clock.install();
  await page.goto(`${dashboard().product.origin}/dashboard/requests`);
  const range = page.getByLabel("Time");
  await range.waitFor();
  await page.clock.fastForward("03:00:00");
  const request = page.waitForRequest((one) => one.postData()?.includes('"createdAt":') ?? false);
  await range.selectOption({ label: "last hour" });
  const { filter } = (await request).postDataJSON().variables;
  const from = Date.parse(filter.createdAt.from);
  expect((await page.evaluate<number>("Date.now()")) - from).toBeLessThan(3_700_000);
});

test("a polled page reads nothing while it is hidden, and reads again once it is shown", async (context) => {
  if (!dashboard().browser) return context.skip();
  const { page } = await dashboard().signedIn();
  await page.clock.install();
  const show = (state: "visible" | "hidden") =>
    page.evaluate(`Object.defineProperty(document, "visibilityState", { configurable: true, value: "${state}" });
      void document.dispatchEvent(new Event("visibilitychange"));`);
  for (const [name, query] of [
    ["Providers", "query Providers"],
    ["Network", "query NetworkPage"],
  ] as const) {
    await show("visible");
    const isRead = () => page.waitForRequest((request) => request.postData()?.includes(query) ?? false);
    await go(page, name);
    const first = isRead();
    await page.clock.runFor(6_000);
    await (await first).response();
    await show("hidden");
    let count = 0;
    page.on("request", (request) => {
      if (request.postData()?.includes(query)) count++;
    });
    await page.clock.runFor(60_000);
    expect(count, name).toBe(0);
    const shown = isRead();
    await show("visible");
    await shown;
  }
});

test("the page of the node reports an unreachable gateway, not a missing permission", async (context) => {
  if (!dashboard().browser) return context.skip();
  const { page } = await dashboard().signedIn();
  await failQuery(page, "Node");
  await linkOf(page, "Node").click();
  await page.getByRole("alert").getByText("The gateway cannot be reached.").waitFor();
  expect(await page.getByText("No permission").count()).toBe(0);
  await page.unroute("**/graphql");
  await page.getByRole("button", { name: "Try again" }).click();
  await page.getByText("Only an operator of this service may read its node").waitFor();
});

test("a page of a list whose rows are gone gives way to the first page", async (context) => {
  if (!dashboard().browser) return context.skip();
  const { page } = await dashboard().signedIn();
  await go(page, "API keys");
  const query = "{ viewer { account { apiKeys(first: 1) { pageInfo { endCursor } } } } }";
  const { data } = await page.evaluate<{ data: Readonly<Record<string, unknown>> }>(`fetch("/graphql", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ query: "${query}" }),
  }).then((response) => response.json())`);
  const cursor = /"endCursor":"([^"]+)"/.exec(JSON.stringify(data))?.[1];
  for (const place of ["after", "before"]) {
    await page.goto(`${dashboard().product.origin}/dashboard/keys?${place}=${cursor}`);
    await page.getByRole("row").filter({ hasText: "demo" }).waitFor();
    expect(page.url()).not.toContain(place);
    await page.goBack();
    await heading(page, "API keys");
  }
});

test("a list keeps its rows while it cannot be read again, and follows when it can", async (context) => {
  if (!dashboard().browser) return context.skip();
  const { origin, mk } = dashboard().product;
  const send = (method: string, limit: string) =>
    fetch(`${origin}/v1/tag-budgets`, {
      method,
      headers: { authorization: `Bearer ${mk}`, "content-type": "application/json" },
      body: JSON.stringify({ name: "team", value: "kept", credit_limit: limit }),
    });
  expect((await send("POST", "2")).status).toBe(201);
  const { page } = await dashboard().signedIn();
  await page.goto(`${origin}/dashboard/tags`);
  const row = page.getByRole("row", { name: /team=kept/ });
  await row.waitFor();
  await failQuery(page, "TagBudgets");
  const failed = page.waitForEvent("requestfailed");
  await chat();
  await failed;
  // Painted after the failure.
  await page.evaluate("new Promise((done) => requestAnimationFrame(() => setTimeout(done)))");
  expect(await row.count()).toBe(1);
  expect(await page.getByText("The gateway cannot be reached.").count()).toBe(0);
});

test("the page of a request in progress, or of a file that is being stored, says its end by itself", async (context) => {
  if (!dashboard().browser) return context.skip();
  const id = await chat();
  const root = `0x${"ab".repeat(32)}`;
  const { page } = await dashboard().signedIn();
  let isOver = false;
  await page.route("**/graphql", async (route) => {
    const { operationName } = route.request().postDataJSON();
    if (operationName === "File") {
      const stored = { sizeBytes: "300000", segmentCount: "2", submissions: { nodes: [] } };
      const state = isOver
        ? { status: "FINALIZED", uploadedSegmentCount: "2" }
        : { status: "UPLOADING", uploadedSegmentCount: "1" };
      return route.fulfill({
        json: { data: { file: { __typename: "StoredFile", root, ...stored, ...state } } },
      });
    }
    if (operationName !== "Request" || isOver) return route.fallback();
    const response = await route.fetch();
    const { data } = await response.json();
    await route.fulfill({ response, json: { data: { request: { ...data.request, status: "RUNNING" } } } });
  });
  await page.goto(`${dashboard().product.origin}/dashboard/requests/${id}`);
  await page.getByText("The request is running.").waitFor();
  isOver = true;
  await page.getByText("Completed and charged").waitFor();
  isOver = false;
  await page.goto(`${dashboard().product.origin}/dashboard/storage/${root}`);
  await page.getByText("1 of its 2 segments are stored.").waitFor();
  isOver = true;
  await page.getByRole("button", { name: "Download and verify" }).waitFor();
});
