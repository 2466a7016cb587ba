// @module-tag large
import type { Page, WebSocketRoute } from "playwright-core";
import { expect, test } from "vitest";
import { rest } from "../support/clients/rest-client.ts";
import { go, useDashboard } from "./signed-in.ts";

const dashboard = useDashboard();

/** Safari throws from the 101st change of the history within 30 seconds, Firefox from the 201st within 10. */
const LIMIT_OF_SAFARI = `{
  const change = History.prototype.replaceState;
  const times = [];
  History.prototype.replaceState = function (...args) {
    const now = performance.now();
    while (times[0] < now - 30000) times.shift();
    times.push(now);
    if (times.length > 100) throw new DOMException("Attempt to use history.replaceState() more than 100 times per 30 seconds", "SecurityError");
    return change.apply(this, args);
  };
}`;

test("a job of many steps is shown to its end in a browser that limits the changes of its history", async (context) => {
  if (!dashboard().browser) return context.skip();
  const { origin, sk } = dashboard().product;
  const body = { model: "devnet-image", prompt: "a pier", size: "8x8" };
  const made = await rest<{ readonly jobId: string }>(origin, "/v1/async/images/generations", sk, { body });
  const { jobId } = made.body;
  const { page, faults } = await dashboard().signedIn();
  await page.addInitScript(LIMIT_OF_SAFARI);
  await page.route("**/graphql", async (route) => {
    if (route.request().postDataJSON().operationName !== "Job") return route.fallback();
    const response = await route.fetch();
    const { data } = await response.json();
    const imageJob = { ...data.imageJob, status: "PROCESSING", finishedAt: null, images: null };
    await route.fulfill({ response, json: { data: { imageJob } } });
  });
  let subscribed: { readonly socket: WebSocketRoute; readonly id: string } | undefined;
  await page.routeWebSocket(/\/graphql$/, (socket) => {
    const gateway = socket.connectToServer();
    socket.onMessage((text) => {
      const { type, id, payload } = JSON.parse(String(text));
      if (type === "subscribe" && payload.query.includes("imageJobProgress")) subscribed = { socket, id };
      else gateway.send(text);
    });
  });
  await page.goto(`${origin}/dashboard/jobs/${jobId}`);
  await expect.poll(() => subscribed).toBeDefined();
  const steps = page.getByRole("list", { name: "Steps" }).getByRole("listitem");
  const count = 150;
  for (let sequence = 1; sequence <= count; sequence++) {
    const id = `step-${sequence}`;
    const at = new Date().toISOString();
    const step = { cursor: id, id, at, sequence, step: "PROCESSING", status: "PROCESSING", attempt: 1 };
    const data = { imageJobProgress: { ...step, providerAddress: null, fraction: null, errorMessage: null } };
    subscribed?.socket.send(JSON.stringify({ id: subscribed.id, type: "next", payload: { data } }));
    // Rendered one by one, as they come.
    await steps.nth(sequence - 1).waitFor();
  }
  expect(await page.getByText("This page failed.").count()).toBe(0);
  const storedSteps = () => page.evaluate<number>("history.state?.job?.steps.length ?? 0");
  await expect.poll(storedSteps).toBe(count);
  expect(faults).toEqual([]);
});

test("a page that a browser brings back after a sign-out shows nothing of the account", async (context) => {
  if (!dashboard().browser) return context.skip();
  const { page } = await dashboard().signedIn();
  await go(page, "Settings");
  // The page is left for one that the browser does not show, and is kept by it as it was.
  let isLeft = false;
  await page.route(`${dashboard().product.origin}/dashboard/`, async (route) => {
    if (isLeft) return route.fallback();
    isLeft = true;
    await route.fulfill({ status: 204 });
  });
  await page.getByRole("button", { name: /^Account/ }).click();
  await page.getByRole("menuitem", { name: "Sign out", exact: true }).click();
  await expect.poll(() => isLeft).toBe(true);
  await page.evaluate(`dispatchEvent(new PageTransitionEvent("pageshow", { persisted: true }))`);
  await page.getByRole("button", { name: "Sign in with the development wallet" }).waitFor();
  expect(await page.locator("body").innerText()).not.toContain("0x");
});

/** The files of an account that has many, as the REST API lists them. */
async function routeFiles(page: Page, count: number): Promise<void> {
  const ids = Array.from({ length: count }, (_, n) => `file-${n + 1}`);
  await page.route(/\/v1\/files(\?|\/)/, async (route) => {
    const url = new URL(route.request().url());
    if (route.request().method() === "DELETE") {
      const id = url.pathname.split("/").at(-1) ?? "";
      ids.splice(ids.indexOf(id), 1);
      return route.fulfill({ json: { id, object: "file", deleted: true } });
    }
    const limit = Number(url.searchParams.get("limit"));
    const start = ids.indexOf(url.searchParams.get("after") ?? "") + 1;
    const part = ids.slice(start, start + limit);
    const data = part.map((id) => ({ id, filename: `${id}.jsonl`, bytes: 1, purpose: "batch", ...TIMES }));
    await route.fulfill({
      json: { object: "list", data, has_more: start + limit < ids.length, last_id: part.at(-1) ?? null },
    });
  });
}

const TIMES = { created_at: 1_790_000_000, expires_at: 1_990_000_000 };

test("a file of batches that is deleted leaves the others that were read where they are", async (context) => {
  if (!dashboard().browser) return context.skip();
  const { page } = await dashboard().signedIn();
  await routeFiles(page, 58);
  await page.goto(`${dashboard().product.origin}/dashboard/batches?tab=files`);
  const file = (n: number) => page.getByRole("button", { name: `Delete file-${n}.jsonl` });
  await file(50).waitFor();
  await page.getByRole("button", { name: "Load more" }).click();
  await file(58).waitFor();
  const isThere = () => file(58).isVisible();
  await file(57).click();
  await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
  await file(57).waitFor({ state: "detached" });
  await page.getByText("file-57.jsonl is deleted.").waitFor();
  expect(await isThere()).toBe(true);
});
