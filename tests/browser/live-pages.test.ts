// @module-tag large
import type { Page, WebSocketRoute } from "playwright-core";
import { expect, test } from "vitest";
import { rest } from "../support/clients/rest-client.ts";
import { go, heading, useDashboard } from "./signed-in.ts";

const dashboard = useDashboard();

/** The subscriptions of a page, to which a test adds results that the gateway did not send. */
type Sockets = {
  /** Sends a message of the protocol to the subscriptions with this in their text. */
  send(subscription: string, type: "next" | "error", payload: object): void;
};

/** Only sockets that are opened from now on take this route. */
async function routeSockets(page: Page): Promise<Sockets> {
  const open = new Map<string, { readonly socket: WebSocketRoute; readonly query: string }>();
  await page.routeWebSocket(/\/graphql$/, (socket) => {
    const gateway = socket.connectToServer();
    socket.onMessage((text) => {
      const { type, id, payload } = JSON.parse(String(text));
      if (type === "subscribe") open.set(id, { socket, query: payload.query });
      gateway.send(text);
    });
    gateway.onMessage((text) => socket.send(text));
  });
  return {
    send(subscription, type, payload) {
      for (const [id, { socket, query }] of open) {
        if (!query.includes(subscription)) continue;
        socket.send(JSON.stringify({ id, type, payload }));
        if (type === "error") open.delete(id);
      }
    },
  };
}

/** Counts the queries of this name from now on. */
function countQueries(page: Page, name: string): () => number {
  let count = 0;
  page.on("request", (request) => {
    if (request.postData()?.includes(`query ${name}(`)) count++;
  });
  return () => count;
}

/** Changes the answers to a query of this name. */
async function changeAnswer(page: Page, name: string, change: (data: never) => unknown): Promise<void> {
  await page.route("**/graphql", async (route) => {
    if (!new RegExp(`query ${name}\\b`).test(route.request().postData() ?? "")) return route.fallback();
    const response = await route.fetch();
    const answer = await response.json();
    change(answer.data as never);
    await route.fulfill({ response, json: answer });
  });
}

/** The figure with this name. */
function figure(page: Page, name: string) {
  return page.getByRole("term").filter({ hasText: name }).locator("xpath=following-sibling::*[1]");
}

const step = (jobId: string, sequence: number, status: string) => ({
  data: {
    imageJobChanged: {
      ...{ cursor: `c${sequence}`, jobId, sequence, status },
      ...{ providerAddress: null, attempt: 1, fraction: 0.5, errorMessage: null },
    },
  },
});
const LOST = [
  {
    message: "Events are retained for 24 h; this cursor is older.",
    extensions: { code: "cursor_expired" },
  },
];

/** Resolves to the id of a job that has completed. */
async function completedJob(): Promise<string> {
  const { origin, sk } = dashboard().product;
  const body = { model: "devnet-image", prompt: "a pier", size: "8x8" };
  const made = await rest<{ readonly jobId: string }>(origin, "/v1/async/images/generations", sk, { body });
  expect(made.status, JSON.stringify(made)).toBeLessThan(300);
  return made.body.jobId;
}

/** A list is queried again at most this often. */
const EVERY_MS = 400;

test("jobs that the list does not show make it query again now and then, however many events they have", async (context) => {
  if (!dashboard().browser) return context.skip();
  const { page, faults } = await dashboard().signedIn();
  const sockets = await routeSockets(page);
  await page.goto(`${dashboard().product.origin}/dashboard/jobs`);
  await heading(page, "Jobs");
  await page.getByRole("status").getByText("live").waitFor();
  const count = countQueries(page, "Jobs");
  const startMs = performance.now();
  const isEnough = () => performance.now() - startMs > 5 * EVERY_MS;
  for (let n = 1; n <= 40 || !isEnough(); n++) {
    sockets.send("imageJobChanged", "next", step(`job-${n}`, 1, "PROCESSING"));
    await page.evaluate("fetch('/dashboard/', { method: 'HEAD' }).then(() => {})");
  }
  expect(count()).toBeGreaterThan(0);
  // One more at once, and one after the last.
  expect(count()).toBeLessThanOrEqual((performance.now() - startMs) / EVERY_MS + 2);
  expect(faults).toEqual([]);
});

test("a job that has ended is shown as the list has it, whatever event of it arrives late", async (context) => {
  if (!dashboard().browser) return context.skip();
  const jobId = await completedJob();
  const { page } = await dashboard().signedIn();
  const sockets = await routeSockets(page);
  await page.goto(`${dashboard().product.origin}/dashboard/jobs`);
  const row = page.getByRole("table").getByRole("row").nth(1);
  await row.getByText("completed").waitFor();
  await page.getByRole("status").getByText("live").waitFor();
  sockets.send("imageJobChanged", "next", step(jobId, 99, "PROCESSING"));
  const count = countQueries(page, "Jobs");
  // The list queries again after it, when the page has received both.
  sockets.send("imageJobChanged", "next", step("another", 1, "PROCESSING"));
  await expect.poll(count).toBeGreaterThan(0);
  await row.getByText("completed").waitFor();
  expect(await row.getByText("processing").count()).toBe(0);
});

test("after a gap a job is shown as it is now, not as the last event before the gap said", async (context) => {
  if (!dashboard().browser) return context.skip();
  const { page } = await dashboard().signedIn();
  const jobId = await completedJob();
  const { origin } = dashboard().product;
  let status = "PENDING";
  const change = (job: { status: string; finishedAt: unknown }) =>
    Object.assign(job, { status, finishedAt: null, request: null, images: null });
  type Jobs = { imageJobs: { nodes: { jobId: string; status: string; finishedAt: unknown }[] } };
  await changeAnswer(page, "Jobs", ({ imageJobs }: Jobs) => {
    for (const job of imageJobs.nodes) if (job.jobId === jobId) change(job);
  });
  const sockets = await routeSockets(page);
  await page.goto(`${origin}/dashboard/jobs`);
  const row = page.getByRole("table").getByRole("row").nth(1);
  await row.getByText("pending").waitFor();
  await page.getByRole("status").getByText("live").waitFor();
  sockets.send("imageJobChanged", "next", step(jobId, 99, "PENDING"));
  await row.getByText("pending").waitFor();
  status = "PROCESSING";
  sockets.send("imageJobChanged", "error", LOST);
  await row.getByText("processing").waitFor();
});

test("a page whose events were lost queries its state again, and is live again", async (context) => {
  if (!dashboard().browser) return context.skip();
  const { page } = await dashboard().signedIn();
  const sockets = await routeSockets(page);
  await page.goto(`${dashboard().product.origin}/dashboard/`);
  await page.getByRole("status").getByText("live").waitFor();
  const available = figure(page, "Available");
  await expect.poll(() => available.textContent()).toMatch(/^\d/);
  const before = await available.textContent();
  const balance = { available: "7000000000000000000", held: "0", deposit: "0", credit: "0" };
  const moved = { cursor: "c", cause: "HOLD", balance };
  sockets.send("subscription Balance(", "next", { data: { balanceChanged: moved } });
  await expect.poll(() => available.textContent()).toMatch(/^7/);
  sockets.send("subscription Balance(", "error", LOST);
  await page.getByText(/^not live/).waitFor();
  await expect.poll(() => available.textContent()).toBe(before);
  await page.getByRole("status").getByText("live").waitFor();
  // The events from now on are received.
  sockets.send("subscription Balance(", "next", { data: { balanceChanged: moved } });
  await expect.poll(() => available.textContent()).toMatch(/^7/);
  for (const [path, name, subscription] of [
    ["requests", "Requests", "subscription"],
    ["jobs", "Jobs", "subscription"],
    ["batches", "Batches", "subscription"],
  ] as const) {
    await page.goto(`${dashboard().product.origin}/dashboard/${path}`);
    await page.getByRole("status").getByText("live").waitFor();
    const count = countQueries(page, name);
    sockets.send(subscription, "error", LOST);
    await page.getByText(/^not live/).waitFor();
    await page.getByRole("status").getByText("live").waitFor();
    await expect.poll(count).toBeGreaterThan(0);
  }
});

test("a balance that could not be read does not count as a deposit", async (context) => {
  if (!dashboard().browser) return context.skip();
  const { page } = await dashboard().signedIn();
  type Data = { viewer: { account: Record<"balance" | "requests" | "deposits", unknown> } };
  await changeAnswer(page, "Overview", ({ viewer: { account } }: Data) => {
    account.balance = null;
    account.requests = { nodes: [] };
    account.deposits = { nodes: [] };
  });
  await page.reload();
  const funded = page
    .getByRole("listitem")
    .filter({ has: page.getByText("Fund the account", { exact: true }) });
  await funded.getByRole("img", { name: "Not done yet" }).waitFor();
});

test("the price of a token follows from models that have a price of their output only", async (context) => {
  if (!dashboard().browser) return context.skip();
  const { page } = await dashboard().signedIn();
  type Data = { models: { nodes: readonly object[] } };
  await changeAnswer(page, "TokenPrice", ({ models }: Data) => {
    const pricing = { input: "0", output: "2000000000000000000" };
    models.nodes = [{ pricing, pricingUsd: { input: "0", output: "1.5" } }];
  });
  await page.reload();
  await page.getByText(/^1 \S+ = \$0\.75/).waitFor();
});

test("the models of a batch are checked against all models, of however many pages", async (context) => {
  if (!dashboard().browser) return context.skip();
  const { page } = await dashboard().signedIn();
  type Data = { models: { nodes: readonly object[]; pageInfo: object } };
  let pages = 0;
  await changeAnswer(page, "BatchModels", ({ models }: Data) => {
    pages++;
    if (pages > 1) return;
    models.nodes = [{ modelId: "first-page" }];
    models.pageInfo = { hasNextPage: true, endCursor: null };
  });
  await go(page, "Batches");
  await page.getByRole("button", { name: "Create a batch" }).click();
  const lines = ["first-page", "devnet-chat", "no-model"].map((model, n) =>
    JSON.stringify({
      ...{ custom_id: String(n), method: "POST", url: "/v1/chat/completions" },
      body: { model, messages: [{ role: "user", content: "Hi" }] },
    }),
  );
  const file = { name: "all.jsonl", mimeType: "application/jsonl", buffer: Buffer.from(lines.join("\n")) };
  await page.getByRole("dialog").getByLabel("File of requests").setInputFiles(file);
  await page.getByText("Line 3: body.model: no provider offers no-model.").waitFor();
  expect(await page.getByText(/^Line [12]/).count()).toBe(0);
});
