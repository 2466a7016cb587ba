// @module-tag large
import OpenAI from "openai";
import type { Browser, Page } from "playwright-core";
import { privateKeyToAccount } from "viem/accounts";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { DEMO_USER, IMAGE_PROVIDER } from "../../src/devnet/chain/accounts.ts";
import { agentProofs, iTransfer, mintAgent } from "../support/chain/agents.ts";
import { openBrowser, type openPage, PATIENCE_MS, requireAccessible } from "../support/clients/browser.ts";
import { ask as askGraph } from "../support/clients/graph-client.ts";
import { rest } from "../support/clients/rest-client.ts";
import type { OnEnd } from "../support/servers/database.ts";
import { startReceiver, verify } from "../support/webhooks/receiver.ts";
import { testExamples } from "./examples.ts";
import { type HeldImages, startHeldImages } from "./held-images.ts";
import { type Product, startProduct } from "./product.ts";
import { testRequestsPages } from "./requests-pages.ts";
import { go, heading, linkOf, openSignedIn } from "./signed-in.ts";

const ends: (() => Promise<void>)[] = [];
const onEnd: OnEnd = (end) => void ends.unshift(end);

let product: Product;
let images: HeldImages;
let browser: Browser | undefined;

beforeAll(async () => {
  images = await startHeldImages(onEnd);
  [browser, product] = await Promise.all([openBrowser(onEnd), startProduct(onEnd, images.settings)]);
});
afterAll(async () => {
  for (const end of ends) await end();
});

/** A page after signing in with one click. */
function signedIn(options: Parameters<typeof openPage>[2] = {}) {
  return openSignedIn(browser as Browser, product.origin, options);
}

/** Creates a key through the user interface, and returns its secret. */
async function makeKey(page: Page, name: string): Promise<string> {
  await go(page, "API keys");
  await page.getByRole("button", { name: "Create a key" }).click();
  await page.getByLabel("Name").fill(name);
  await page.getByRole("button", { name: "Create", exact: true }).click();
  const secret = await page
    .getByRole("dialog", { name: "Your new key" })
    .locator("code")
    .first()
    .textContent();
  return secret ?? "";
}

test("a key created on the page is used, its cost appears without a reload, and once revoked it is refused", async (context) => {
  if (!browser) return context.skip();
  const { page, faults } = await signedIn();
  const secret = await makeKey(page, "from the page");
  expect(secret).toMatch(/^sk-[0-9A-Za-z]{49}$/);
  const dialog = page.getByRole("dialog");
  await dialog.getByRole("button", { name: "Done" }).click();
  await dialog.getByText("You have not copied the key").waitFor();
  await dialog.getByRole("button", { name: "Go back" }).click();
  await dialog.getByRole("button", { name: "Copy" }).first().click();
  await dialog.getByRole("button", { name: "Copied" }).waitFor();
  await dialog.getByRole("button", { name: "Done" }).click();
  await dialog.waitFor({ state: "detached" });
  expect(await page.content()).not.toContain(secret);

  await go(page, "Overview");
  await page.getByText("live", { exact: true }).waitFor();
  const available = page.getByText("Available").locator("xpath=following-sibling::*[1]");
  const before = await available.textContent();
  const client = new OpenAI({ baseURL: `${product.origin}/v1`, apiKey: secret, maxRetries: 0 });
  const ask = () =>
    client.chat.completions.create({
      model: "devnet-chat",
      messages: [{ role: "user", content: "The sea?" }],
      verify_tee: true,
    } as OpenAI.Chat.ChatCompletionCreateParamsNonStreaming);
  await ask();
  await expect.poll(() => available.textContent()).not.toBe(before);
  await page.getByRole("cell", { name: "devnet-chat" }).first().waitFor();

  await go(page, "Requests");
  await page.getByRole("cell", { name: "from the page" }).first().waitFor();
  const rows = page.getByRole("table").locator("tbody tr");
  await page.getByLabel("Key", { exact: true }).selectOption("from the page");
  await expect.poll(() => rows.count()).toBe(1);
  // While the page is open, another request arrives.
  await ask();
  await expect.poll(() => rows.count()).toBe(2);
  await page.getByLabel("ID begins with").fill("no-such-request");
  await page.getByText("No request matches.").waitFor();
  await page.getByRole("button", { name: "Clear filters" }).click();
  await page.getByRole("table").getByRole("link").first().click();
  await heading(page, "Request");
  await page.getByText("Details").waitFor();

  await go(page, "API keys");
  await page.getByRole("button", { name: "Revoke from the page" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Revoke" }).click();
  await page.getByRole("dialog").waitFor({ state: "detached" });
  await expect(ask()).rejects.toMatchObject({ status: 401, code: "api_key_revoked" });
  expect(faults).toEqual([]);
});

test("for a limit of 0 the page says that the key can spend nothing, before the key is created", async (context) => {
  if (!browser) return context.skip();
  const { page, faults } = await signedIn();
  await go(page, "API keys");
  await page.getByRole("button", { name: "Create a key" }).click();
  const warning = page.getByRole("status").filter({ hasText: "the key can spend nothing" });
  const limit = page.getByLabel(/^Limit in /);
  for (const [amount, isWarned] of [
    ["0", true],
    ["0.5", false],
    ["0.000", true],
    ["", false],
  ] as const) {
    await limit.fill(amount);
    await warning.waitFor({ state: isWarned ? "visible" : "detached" });
  }
  expect(faults).toEqual([]);
});

test("a job that is watched while its connection breaks continues after the last step shown", async (context) => {
  if (!browser) return context.skip();
  const { page } = await signedIn();
  const asked: (string | null)[] = [];
  const seen: string[] = [];
  await page.routeWebSocket(/\/graphql$/, (socket) => {
    const gateway = socket.connectToServer();
    let isBroken = false;
    socket.onMessage((text) => {
      const { type, payload } = JSON.parse(String(text));
      if (type === "subscribe" && payload.query.includes("imageJobProgress"))
        asked.push(payload.variables.after ?? null);
      gateway.send(text);
    });
    gateway.onMessage((text) => {
      // Closing takes a while, and what arrives meanwhile is lost with the connection.
      if (isBroken) return;
      socket.send(text);
      const step = JSON.parse(String(text)).payload?.data?.imageJobProgress;
      if (!step) return;
      seen.push(step.cursor);
      if (seen.length > 1) return;
      isBroken = true;
      void gateway.close();
      void socket.close({ code: 1012, reason: "restart" });
    });
  });
  // Only sockets opened from now on take that route.
  await page.reload();
  const release = images.hold();
  const client = new OpenAI({ baseURL: `${product.origin}/v1`, apiKey: product.sk, maxRetries: 0 });
  const body = { model: images.model, prompt: "a pier", response_format: "b64_json" };
  const { jobId } = await client.post<{ jobId: string }>("/async/images/generations", { body });
  await page.goto(`${product.origin}/dashboard/jobs/${jobId}`);
  await expect.poll(() => asked.length).toBe(2);
  release();
  await page.locator(".timeline").getByText("completed").waitFor({ timeout: PATIENCE_MS });
  await page.locator(".pictures img").waitFor();
  expect(asked).toEqual([null, seen[0]]);
  expect(new Set(seen).size).toBe(seen.length);
  // Without their times, which are relative to now.
  const steps = page.getByRole("list", { name: "Steps" }).locator("strong");
  const shown = await steps.allTextContents();
  expect(shown.length).toBeGreaterThan(1);
  await page.reload();
  await expect.poll(() => steps.allTextContents()).toEqual(shown);
});

test("a management key is created with chosen scopes, changed, and revoked after a confirmation", async (context) => {
  if (!browser) return context.skip();
  const { page, faults } = await signedIn();
  await go(page, "Settings");
  const opener = page.getByRole("button", { name: "Create a management key" });
  const dialog = page.getByRole("dialog");
  // By keyboard: Escape closes what Enter has opened, and the focus is where it was.
  await opener.focus();
  await page.keyboard.press("Enter");
  await dialog.waitFor();
  await expect.poll(() => page.locator(":focus").getAttribute("name")).toBe("name");
  await page.keyboard.press("Escape");
  await dialog.waitFor({ state: "detached" });
  expect(await opener.evaluate((button) => button === button.ownerDocument.activeElement)).toBe(true);
  await page.keyboard.press("Enter");
  await dialog.getByLabel("Name").fill("reader");
  await dialog.getByLabel("Preset").selectOption("Custom");
  await dialog.getByRole("button", { name: "Create" }).click();
  await dialog.getByText("Choose at least one permission").waitFor();
  await dialog.getByLabel("Read balance, usage and requests").check();
  await dialog.getByRole("button", { name: "Create" }).click();
  const secret =
    (await page.getByRole("dialog", { name: "Your new key" }).locator("code").textContent()) ?? "";
  await dialog.getByRole("button", { name: "Copy" }).click();
  await dialog.getByRole("button", { name: "Done" }).click();
  const balance = () =>
    fetch(`${product.origin}/v1/account/balance`, { headers: { authorization: `Bearer ${secret}` } });
  expect((await balance()).status).toBe(200);

  await page.getByRole("button", { name: "Edit reader" }).click();
  await dialog.getByLabel("Preset").selectOption("Key Manager");
  await dialog.getByRole("button", { name: "Save" }).click();
  await dialog.waitFor({ state: "detached" });
  await page.getByRole("cell", { name: "keys:read, keys:manage" }).waitFor();
  expect((await balance()).status).toBe(403);

  await page.getByRole("button", { name: "Revoke reader" }).click();
  await dialog.getByRole("button", { name: "Revoke" }).click();
  await dialog.waitFor({ state: "detached" });
  expect((await balance()).status).toBe(401);
  expect(faults).toEqual([]);
});

test("a webhook is created, tested, shown with its attempts, disabled, and deleted after a confirmation", async (context) => {
  if (!browser) return context.skip();
  const receiver = await startReceiver(onTestFinished as OnEnd);
  const { page, faults } = await signedIn();
  await go(page, "Webhooks");
  await page.getByRole("button", { name: "Create a webhook" }).click();
  const form = page.getByRole("dialog", { name: "Create a webhook" });
  await form.getByLabel("Name").fill("receiver");
  await form.getByLabel("URL").fill(receiver.url);
  await form.getByLabel("an sk- key was created").check();
  await form.getByRole("button", { name: "Create", exact: true }).click();
  const dialog = page.getByRole("dialog", { name: "Your signing secret" });
  const secret = (await dialog.locator("code").textContent()) ?? "";
  await dialog.getByRole("button", { name: "Copy" }).click();
  await dialog.getByRole("button", { name: "Done" }).click();
  await page.getByRole("button", { name: "Send a test" }).click();
  await page.getByText("Test: Delivered (status 204").waitFor();
  await makeKey(page, "for the webhook");
  await page.getByRole("dialog").getByRole("button", { name: "Copy" }).first().click();
  await page.getByRole("dialog").getByRole("button", { name: "Done" }).click();
  await expect.poll(() => receiver.types()).toEqual(["webhook.test", "api_key.created"]);
  for (const delivery of receiver.received) verify(delivery, secret);
  await go(page, "Webhooks");
  await page.getByRole("button", { name: "Refresh" }).click();
  await page.getByRole("button", { name: "Delivery log" }).click();
  await page.getByRole("cell", { name: "Delivered (status 204" }).waitFor();
  await requireAccessible(page, "webhook-attempts");
  await page.getByRole("dialog").getByRole("button", { name: "Done" }).click();
  await page.getByRole("button", { name: "Disable" }).click();
  await page.getByText("Disabled: owner.").waitFor();
  await page.getByRole("button", { name: "Delete" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
  await page.getByText("No webhooks yet.").waitFor();
  expect(faults).toEqual([]);
});

test("money deposited from the page appears there without a reload", async (context) => {
  if (!browser) return context.skip();
  const { page, faults } = await signedIn();
  await go(page, "Deposits");
  const rows = page.getByRole("table").getByRole("row");
  await rows.nth(1).waitFor();
  const before = await rows.count();
  await page.getByLabel("Amount in 0G").fill("1.25");
  await page.getByRole("button", { name: "Deposit with Development wallet" }).click();
  await expect.poll(() => rows.count()).toBe(before + 1);
  await page.getByRole("cell", { name: "1.25" }).waitFor();
  await page.getByText("confirmed").nth(1).waitFor();
  expect(faults).toEqual([]);

  await page.getByLabel("Amount in 0G").fill("999999999");
  const [refused] = await Promise.all([
    page.waitForResponse(/development-wallet\/send$/),
    page.getByRole("button", { name: "Deposit with Development wallet" }).click(),
  ]);
  expect(refused.status()).toBe(409);
  await page.getByText("The wallet's balance does not cover the amount and the gas.").waitFor();
});

test("a section that cannot be loaded says so beside the others, and appears when it is opened again", async (context) => {
  if (!browser) return context.skip();
  const { page } = await signedIn();
  await page.route(/\/assets\/network-.*\.js$/, (route) => route.abort());
  await linkOf(page, "Network").click();
  await page.getByText("This page could not be loaded.").waitFor({ timeout: PATIENCE_MS });
  await go(page, "Providers");
  await page.unroute(/\/assets\/network-.*\.js$/);
  await go(page, "Network");
});

test("a page that is opened without a network loads by itself when the network is back", async (context) => {
  if (!browser) return context.skip();
  const { page } = await signedIn();
  let isAway = true;
  await page.route(/\/graphql$|\/assets\/providers-.*\.js$/, (route) =>
    isAway ? route.abort("internetdisconnected") : route.continue(),
  );
  await linkOf(page, "Providers").click();
  await page.waitForEvent("requestfailed");
  isAway = false;
  await heading(page, "Providers");
  isAway = true;
  await page.reload({ waitUntil: "commit" });
  // Longer than one query is retried: the viewer is queried until it is known.
  await page.getByText("The gateway cannot be reached.").waitFor({ timeout: PATIENCE_MS });
  isAway = false;
  await page.evaluate("dispatchEvent(new Event('online'))");
  await heading(page, "Providers");
});

test("a key that is sealed for the account appears while the page is open", async (context) => {
  if (!browser) return context.skip();
  const { page, faults } = await signedIn();
  await go(page, "Agent tokens");
  const keys = page.getByRole("region", { name: "Sealed keys", exact: true }).getByRole("row");
  // The head, and the keys of the sample.
  await expect.poll(() => keys.count()).toBe(2);
  const { data: chain } = await askGraph(product.origin, undefined, "{ network { rpcUrls } }");
  const [rpcUrl = ""] = (chain as { network: { rpcUrls: readonly string[] } }).network.rpcUrls;
  const { address: from, privateKey: byKey } = IMAGE_PROVIDER;
  const { tokenId, data } = await mintAgent(rpcUrl, { to: from });
  const proofs = await agentProofs(data, { to: privateKeyToAccount(DEMO_USER.privateKey) });
  await iTransfer(rpcUrl, { byKey, from, to: DEMO_USER.address, tokenId, proofs });
  await expect.poll(() => keys.count()).toBe(3);
  await page.getByText("key 0,").first().click();
  await page
    .getByText(/^Opens 0x/)
    .first()
    .waitFor();
  expect(faults).toEqual([]);
});

test("the first page loads little script, also with what is loaded after it, and nothing on it jumps", async (context) => {
  if (!browser) return context.skip();
  // Without spending there is no chart.
  const body = { model: "devnet-chat", messages: [{ role: "user", content: "The sea?" }] };
  expect(await rest(product.origin, "/v1/chat/completions", product.sk, { body })).toMatchObject({
    status: 200,
  });
  const { page } = await signedIn();
  await page.addInitScript(
    "window.shifts = []; new PerformanceObserver((list) => window.shifts.push(...list.getEntries().map(({ value }) => value))).observe({ type: 'layout-shift', buffered: true })",
  );
  // As on a slow machine: what is loaded late must not move what is there.
  const devtools = await page.context().newCDPSession(page);
  const slow = { offline: false, latency: 250, downloadThroughput: 500_000, uploadThroughput: 500_000 };
  await devtools.send("Network.emulateNetworkConditions", slow);
  for (const path of ["", "requests", "providers"]) {
    await page.goto(`${product.origin}/dashboard/${path}`);
    await page
      .locator(path === "" ? ".chart canvas" : "main .empty, tbody tr")
      .first()
      .waitFor();
    const shift = await page.evaluate<number>("window.shifts.reduce((sum, value) => sum + value, 0)");
    // The Web Vitals threshold for a good score.
    expect(shift, `/${path}`).toBeLessThan(0.1);
    const bytes = await page.evaluate<number>(
      "performance.getEntriesByType('resource').filter(({ name }) => name.endsWith('.js')).reduce((sum, { encodedBodySize }) => sum + encodedBodySize, 0)",
    );
    expect(bytes).toBeGreaterThan(10_000);
    expect(bytes).toBeLessThan(250_000);
  }
});

test("the session survives a reload, no other site can use it, and it ends with signing out", async (context) => {
  if (!browser) return context.skip();
  const { page } = await signedIn();
  await page.reload();
  await heading(page, "Overview");
  const [cookie] = await page.context().cookies();
  expect(cookie).toMatchObject({ httpOnly: true, sameSite: "Strict" });
  const ask = (headers: Record<string, string>) =>
    fetch(`${product.origin}/graphql`, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        cookie: `${cookie?.name}=${cookie?.value}`,
        ...headers,
      },
      body: JSON.stringify({ query: "{ viewer { kind } }" }),
    }).then((reply) => reply.json() as Promise<{ data: { viewer: { kind: string } } }>);
  expect((await ask({ origin: product.origin })).data.viewer.kind).toBe("WALLET_SESSION");
  expect((await ask({ origin: "https://evil.example" })).data.viewer.kind).toBe("ANONYMOUS");
  expect((await ask({ "sec-fetch-site": "cross-site" })).data.viewer.kind).toBe("ANONYMOUS");
  await page.getByRole("button", { name: /^Account/ }).click();
  await page.getByRole("menuitem", { name: "Sign out" }).click();
  await page.getByRole("button", { name: "Sign in with the development wallet" }).waitFor();
  const after = await ask({ origin: product.origin });
  expect(after.data?.viewer?.kind ?? "refused").not.toBe("WALLET_SESSION");
});

test("the explorer runs its examples in the name of the signed-in account, and an unknown page links home", async (context) => {
  if (!browser) return context.skip();
  const { page, faults } = await signedIn();
  await page.goto(`${product.origin}/graphql`);
  await page.getByRole("button", { name: /execute/i }).click();
  await page.locator(".result-window").getByText("WALLET_SESSION").waitFor();
  await page.getByRole("tab", { name: /Balance/ }).click();
  // GraphiQL reads the tab's operations a moment after it shows them: until then it finds none of that name.
  const result = page.locator(".result-window");
  const stop = page.getByRole("button", { name: /stop/i });
  await expect
    .poll(async () => {
      if (!(await stop.isVisible())) await page.getByRole("button", { name: /execute/i }).click();
      await stop.or(result.getByText("Cannot infer operation")).first().waitFor();
      return stop.isVisible();
    })
    .toBe(true);
  const { page: other } = await signedIn();
  await makeKey(other, "for the explorer");
  expect(await stop.isVisible()).toBe(true);
  expect(faults).toEqual([]);
  await page.goto(`${product.origin}/docs/`);
  await page.getByText("/v1/chat/completions").first().waitFor();
  await page.getByRole("heading", { name: "Management keys" }).waitFor();
  await page.goto(`${product.origin}/nowhere`);
  await page.getByRole("link", { name: "Dashboard" }).click();
  await heading(page, "Overview");
});

// Beside the tests of the dashboard they would be seen on its pages, which are of the same account.
describe("the examples", () => testExamples(() => ({ ...product, images })));
describe("the page of requests in each client", () => testRequestsPages(() => product));
