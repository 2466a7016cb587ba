// @module-tag large
import { readFile } from "node:fs/promises";
import { expect, onTestFinished, test } from "vitest";
import { requireAccessible } from "../support/clients/browser.ts";
import { rest } from "../support/clients/rest-client.ts";
import type { OnEnd } from "../support/servers/database.ts";
import { startReceiver, verify } from "../support/webhooks/receiver.ts";
import { go, heading, useDashboard } from "./signed-in.ts";

const dashboard = useDashboard();

/** A chat with a tag. */
async function chat(tag: string): Promise<void> {
  const response = await fetch(`${dashboard().product.origin}/v1/chat/completions`, {
    method: "POST",
    headers: {
      authorization: `Bearer ${dashboard().product.sk}`,
      "content-type": "application/json",
      "x-tag": tag,
    },
    body: JSON.stringify({ model: "devnet-chat", messages: [{ role: "user", content: "The sea?" }] }),
  });
  expect(response.status).toBe(200);
}

test("a new key comes with code that has it, and its row says what it spent and may do", async (context) => {
  if (!dashboard().browser) return context.skip();
  await chat("team=keys");
  const { page, faults } = await dashboard().signedIn();
  await go(page, "API keys");
  await page
    .getByRole("img", { name: /^[\d.<]+ 0G in 30 days$/ })
    .first()
    .waitFor();
  await page.getByRole("button", { name: "Create a key" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Name").fill("guarded");
  await dialog.getByLabel(/^Limit in /).fill("2");
  await dialog.getByLabel("Most tokens of an answer").fill("500");
  await dialog.getByRole("button", { name: "Create", exact: true }).click();
  const secret = (await dialog.locator("code").first().textContent()) ?? "";
  for (const name of ["curl", "Python", "TypeScript", "GraphQL"]) {
    await dialog.getByRole("tab", { name }).click();
    await dialog
      .getByRole("region", { name: `First call: ${name}` })
      .getByText(secret)
      .waitFor();
  }
  await requireAccessible(page, "key-snippets");
  await dialog.getByRole("button", { name: "Copy" }).first().click();
  await dialog.getByRole("button", { name: "Done" }).click();
  const row = page.getByRole("row").filter({ hasText: "guarded" });
  await row.getByText("At most 500 tokens in an answer").waitFor();
  // Nothing is spent: it has no width.
  await row.getByRole("progressbar", { name: "guarded: 0% spent" }).waitFor({ state: "attached" });
  await page.getByRole("button", { name: "Revoke guarded" }).click();
  await dialog.getByText("their remaining requests are not sent").waitFor();
  await dialog.getByRole("button", { name: "Revoke" }).click();
  await dialog.waitFor({ state: "detached" });
  expect(faults).toEqual([]);
});

test("a tag's spend is listed, and its budget is created, changed, used up and deleted", async (context) => {
  if (!dashboard().browser) return context.skip();
  await chat("team=search");
  const { page, faults } = await dashboard().signedIn();
  await go(page, "Tags and budgets");
  await page.getByRole("button", { name: "Set a budget for team=search" }).click();
  const dialog = page.getByRole("dialog");
  expect(await dialog.getByLabel("Value").inputValue()).toBe("search");
  await dialog.getByLabel(/^Budget in /).fill("much");
  await dialog.getByRole("button", { name: "Create", exact: true }).click();
  await dialog.getByText("The budget must be an amount such as 2.5.").waitFor();
  await dialog.getByLabel(/^Budget in /).fill("1");
  await dialog.getByRole("button", { name: "Create", exact: true }).click();
  await dialog.waitFor({ state: "detached" });
  const row = page
    .getByRole("region", { name: "Budgets" })
    .getByRole("row")
    .filter({ hasText: "team=search" });
  await row.getByText("within budget").waitFor();

  await page.getByRole("button", { name: "Edit team=search" }).click();
  await dialog.getByLabel(/^Budget in /).fill("0.000001");
  await dialog.getByLabel("Resets").selectOption("never");
  await dialog.getByRole("button", { name: "Save" }).click();
  await row.getByText("used up").waitFor();
  await requireAccessible(page, "tag-budgets");

  // The same tag again: the server names the field.
  await page.getByRole("button", { name: "Create a budget" }).click();
  await dialog.getByLabel("Name").fill("team");
  await dialog.getByLabel("Value").fill("search");
  await dialog.getByLabel(/^Budget in /).fill("1");
  await dialog.getByRole("button", { name: "Create", exact: true }).click();
  await dialog
    .getByText(/budget/i)
    .last()
    .waitFor();
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: "Delete team=search" }).click();
  await dialog.getByRole("button", { name: "Delete" }).click();
  await page.getByText("No budgets yet.").waitFor();
  expect(faults).toEqual([]);
});

/** A line of an input. */
const line = (id: string, model = "devnet-chat") =>
  JSON.stringify({
    custom_id: id,
    method: "POST",
    url: "/v1/chat/completions",
    body: { model, messages: [{ role: "user", content: "The sea?" }], max_tokens: 4 },
  });
const fileOf = (name: string, lines: readonly string[]) => ({
  name,
  mimeType: "application/jsonl",
  buffer: Buffer.from(lines.join("\n")),
});

test("a batch is checked in the browser, runs to its end on its page, and its files are downloaded and deleted", async (context) => {
  if (!dashboard().browser) return context.skip();
  const { page, faults } = await dashboard().signedIn();
  await go(page, "Batches");
  await page.getByText("No batches yet.").waitFor();
  await page.getByRole("button", { name: "Create a batch" }).click();
  const dialog = page.getByRole("dialog");
  const input = dialog.getByLabel("File of requests");
  await input.setInputFiles(fileOf("wrong.jsonl", [line("1"), "{", line("1"), line("4", "no-model")]));
  await dialog.getByText("Line 2: This is not JSON").waitFor();
  await dialog.getByText("Line 3: custom_id: line 1 has the same.").waitFor();
  await dialog.getByText("Line 4: body.model: no provider offers no-model.").waitFor();
  expect(await dialog.getByRole("button", { name: "Create", exact: true }).isDisabled()).toBe(true);
  await requireAccessible(page, "batch-faults");
  await input.setInputFiles(fileOf("right.jsonl", [line("1"), line("2"), line("3")]));
  await dialog.getByText("3 requests to").waitFor();
  await dialog.getByRole("button", { name: "Create", exact: true }).click();
  await heading(page, "Batch");
  await page.getByText("right.jsonl").first().waitFor();
  await page.getByText("completed", { exact: true }).waitFor();
  await page.getByRole("progressbar", { name: "Requests: 3 of 3 answered" }).waitFor();
  await requireAccessible(page, "batch-page");
  const [download] = await Promise.all([
    page.waitForEvent("download"),
    page.getByRole("link", { name: "Download the answers" }).click(),
  ]);
  const answers = (await readFile(await download.path(), "utf8")).trim().split("\n");
  expect(answers.map((text) => JSON.parse(text).custom_id).toSorted()).toEqual(["1", "2", "3"]);

  await go(page, "Batches");
  await page.getByRole("row").filter({ hasText: "right.jsonl" }).getByText("completed").waitFor();
  await page.getByRole("tab", { name: "Files" }).click();
  await page.getByRole("button", { name: "Delete right.jsonl" }).click();
  await dialog.getByRole("button", { name: "Delete" }).click();
  await page.getByRole("button", { name: "Delete right.jsonl" }).waitFor({ state: "detached" });
  expect(await page.evaluate("document.documentElement.scrollWidth - innerWidth")).toBe(0);
  expect(faults).toEqual([]);
});

test("a batch whose dialog is closed while its file is uploaded is not created, and its key is revoked", async (context) => {
  if (!dashboard().browser) return context.skip();
  const { page } = await dashboard().signedIn();
  const created: string[] = [];
  page.on("request", (request) => {
    if (request.method() === "POST" && request.url().endsWith("/v1/batches")) created.push(request.url());
  });
  const uploads: Promise<void>[] = [];
  const held = Promise.withResolvers<void>();
  const arrived = Promise.withResolvers<void>();
  await page.route("**/v1/files", async (route) => {
    arrived.resolve();
    await held.promise;
    // The browser has given it up by now.
    uploads.push(route.continue().catch(() => {}));
  });
  await go(page, "Batches");
  await page.getByRole("button", { name: "Create a batch" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("File of requests").setInputFiles(fileOf("given-up.jsonl", [line("1")]));
  await dialog.getByText("1 request to").waitFor();
  await dialog.getByRole("button", { name: "Create", exact: true }).click();
  await arrived.promise;
  const revoked = page.waitForRequest((request) => request.postData()?.includes("RevokeBatchKey") ?? false);
  await dialog.getByRole("button", { name: "Cancel" }).click();
  held.resolve();
  expect(await (await (await revoked).response())?.json()).toMatchObject({
    data: { revokeApiKey: { userErrors: [] } },
  });
  await Promise.all(uploads);
  await heading(page, "Batches");
  expect(created).toEqual([]);
});

test("a batch is created once although the answer is lost, and its page is opened", async (context) => {
  if (!dashboard().browser) return context.skip();
  const { page } = await dashboard().signedIn();
  const answers: number[] = [];
  await page.route("**/v1/batches", async (route) => {
    const answer = await route.fetch();
    // The first one is lost, the second one is that of a proxy whose upstream it could not reach.
    if (answers.push(answer.status()) === 1) return route.abort();
    if (answers.length === 2) return route.fulfill({ status: 502, body: "" });
    await route.fulfill({ response: answer });
  });
  await go(page, "Batches");
  await page.getByRole("button", { name: "Create a batch" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("File of requests").setInputFiles(fileOf("lost.jsonl", [line("1")]));
  await dialog.getByText("1 request to").waitFor();
  await dialog.getByRole("button", { name: "Create", exact: true }).click();
  await heading(page, "Batch");
  expect(answers).toEqual([200, 200, 200]);
  await page.getByText("completed", { exact: true }).waitFor();
  await go(page, "Batches");
  expect(await page.getByRole("row").filter({ hasText: "lost.jsonl" }).count()).toBe(1);
});

test("a batch of a file with a long name of emoji is created, and what is wrong with its lines is saved as CSV", async (context) => {
  if (!dashboard().browser) return context.skip();
  const { page } = await dashboard().signedIn();
  // Without the models, the browser finds nothing wrong.
  await page.route("**/graphql", (route) => {
    if (!/query BatchModels\b/.test(route.request().postData() ?? "")) return route.fallback();
    return route.fulfill({ json: { data: { models: null } } });
  });
  await go(page, "Batches");
  await page.getByRole("button", { name: "Create a batch" }).click();
  const dialog = page.getByRole("dialog");
  const name = `a${"😀".repeat(40)}\u200f.jsonl`;
  await dialog.getByLabel("File of requests").setInputFiles(fileOf(name, [line("1"), line("2", "no-model")]));
  await dialog.getByText("2 requests to").waitFor();
  await dialog.getByRole("button", { name: "Create", exact: true }).click();
  await page.getByRole("heading", { name: "What is wrong" }).waitFor();
  const [download] = await Promise.all([
    page.waitForEvent("download"),
    page.getByRole("button", { name: "CSV" }).click(),
  ]);
  expect((await readFile(await download.path(), "utf8")).split("\r\n")).toEqual([
    "Line,Field,What is wrong,Code",
    "2,body.model,body.model: no provider offers this model here,model_not_found",
    "",
  ]);
});

test("no page of another site lists, reads or deletes a file with the session", async (context) => {
  if (!dashboard().browser) return context.skip();
  const { page } = await dashboard().signedIn();
  const [cookie] = await page.context().cookies();
  const send = (path: string, method: string, headers: Record<string, string>) =>
    fetch(`${dashboard().product.origin}${path}`, {
      method,
      headers: { cookie: `${cookie?.name}=${cookie?.value}`, ...headers },
    }).then(({ status }) => status);
  const own = { "sec-fetch-site": "same-origin" };
  const other = { origin: "https://evil.example", "sec-fetch-site": "cross-site" };
  expect(await send("/v1/files?limit=1", "GET", own)).toBe(200);
  expect(await send("/v1/files?limit=1", "GET", other)).toBe(401);
  expect(await send("/v1/files?limit=1", "GET", {})).toBe(401);
  expect(await send("/v1/files/file-1", "DELETE", other)).toBe(401);
  expect(await send("/v1/files/file-1", "DELETE", { origin: dashboard().product.origin })).toBe(404);
  // Only these routes take it.
  for (const path of ["/v1/files/a/b/content", "/v1/filesystem", "/v1/batches", "/v1/api-keys"])
    expect([401, 404]).toContain(await send(path, "GET", own));
});

test("a webhook's events are delivered again from a cursor, and a new secret signs beside the old one", async (context) => {
  if (!dashboard().browser) return context.skip();
  const receiver = await startReceiver(onTestFinished as OnEnd);
  const { page, faults } = await dashboard().signedIn();
  await go(page, "Webhooks");
  await page.getByRole("button", { name: "Create a webhook" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Name").fill("again");
  await dialog.getByLabel("URL").fill(receiver.url);
  await dialog.getByLabel("a tag used 80% or all of its budget").check();
  await dialog.getByLabel("an sk- key was created").check();
  await dialog.getByRole("button", { name: "Create", exact: true }).click();
  await dialog.getByRole("button", { name: "Copy" }).click();
  await dialog.getByRole("button", { name: "Done" }).click();
  for (const name of ["first", "second"]) {
    const response = await fetch(`${dashboard().product.origin}/v1/api-keys`, {
      method: "POST",
      headers: { authorization: `Bearer ${dashboard().product.mk}`, "content-type": "application/json" },
      body: JSON.stringify({ name }),
    });
    expect(response.ok).toBe(true);
  }
  await expect.poll(() => receiver.received.length).toBe(2);
  const [first] = receiver.received.map(({ payload }) => (payload as { readonly cursor?: string }).cursor);
  await page.getByRole("button", { name: "Redeliver" }).click();
  await dialog.getByLabel("After the cursor").fill("nonsense");
  await dialog.getByRole("button", { name: "Redeliver" }).click();
  await dialog.getByRole("alert").waitFor();
  await dialog.getByLabel("After the cursor").fill(first ?? "");
  await dialog.getByRole("button", { name: "Redeliver" }).click();
  await expect.poll(() => receiver.received.length).toBe(3);
  await dialog.waitFor({ state: "detached" });

  await page.getByRole("button", { name: "Rotate secret" }).click();
  await dialog.getByText("two signatures").waitFor();
  await dialog.getByRole("button", { name: "Rotate secret" }).click();
  const secret =
    (await page.getByRole("dialog", { name: "Your signing secret" }).locator("code").textContent()) ?? "";
  await dialog.getByRole("button", { name: "Copy" }).click();
  await dialog.getByRole("button", { name: "Done" }).click();
  await page.getByText("Signed with the previous secret too").waitFor();
  await page.getByRole("button", { name: "Send a test" }).click();
  await expect.poll(() => receiver.types().at(-1)).toBe("webhook.test");
  const last = receiver.received.at(-1);
  if (last) verify(last, secret);
  await requireAccessible(page, "webhook-rotated");
  expect(faults).toEqual([]);
});

test("a tag whose budget is on another page of the budgets is not offered a second one", async (context) => {
  if (!dashboard().browser) return context.skip();
  const { origin, mk } = dashboard().product;
  for (const value of ["oldest", ...Array.from({ length: 20 }, (_, n) => `n${n}`)]) {
    const body = { name: "page", value, credit_limit: "1", reset_period: "daily" };
    expect((await rest(origin, "/v1/tag-budgets", mk, { body })).status).toBe(201);
  }
  await chat("page=oldest");
  const { page, faults } = await dashboard().signedIn();
  await go(page, "Tags and budgets");
  const row = page
    .getByRole("region", { name: /^Spend by tag/ })
    .getByRole("row")
    .filter({ hasText: "oldest" });
  await row.getByText("has a budget").waitFor();
  expect(await row.getByRole("button").count()).toBe(0);
  expect(faults).toEqual([]);
});
