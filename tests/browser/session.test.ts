// @module-tag large
import type { Page } from "playwright-core";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import { expect, test } from "vitest";
import { signInAs } from "../support/chain/sign-in.ts";
import { requireAccessible } from "../support/clients/browser.ts";
import { go, heading, linkOf, useDashboard } from "./signed-in.ts";

const dashboard = useDashboard();

/** The notice of the sign-in page after a session that ended. */
function endedNotice(page: Page) {
  return page.getByRole("main").getByText("Your session has ended. Sign in again.");
}

/** Expects the sign-in page with its notice and nothing of the account, and signs in again at the same page. */
async function requireEnded(page: Page, name: string): Promise<void> {
  const button = page.getByRole("button", { name: "Sign in with the development wallet" });
  await button.waitFor();
  await endedNotice(page).waitFor();
  expect(await page.locator("body").innerText()).not.toMatch(/0x|Not live|No permission|Create a key/);
  await button.click();
  await heading(page, name);
  expect(await endedNotice(page).count()).toBe(0);
}

/** Ends the session of a page at the gateway only: its cookie stays. */
async function endSession(page: Page): Promise<void> {
  const [cookie] = await page.context().cookies();
  const response = await fetch(`${dashboard().product.origin}/v1/auth/signout`, {
    method: "POST",
    headers: { authorization: `Bearer ${cookie?.value}`, "content-type": "application/json" },
    body: "{}",
  });
  expect(response.status).toBe(200);
}

test("a session that ended is said at once at the sign-in page, which returns to the same page", async (context) => {
  if (!dashboard().browser) return context.skip();
  const { page } = await dashboard().signedIn();
  await go(page, "API keys");
  await page.getByRole("button", { name: "Create a key" }).waitFor();
  await endSession(page);
  await endedNotice(page).waitFor();
  await requireAccessible(page, "session-ended");
  await requireEnded(page, "API keys");

  // A page that is loaded with the cookie of an ended session.
  await page.goto("about:blank");
  await endSession(page);
  await page.goto(`${dashboard().product.origin}/dashboard/deposits`);
  await requireEnded(page, "Deposits");

  // Without the cookie, as after its 12 hours.
  await page.context().clearCookies();
  // A query of this page may notice it before its link is found.
  const hasLeft = await page.evaluate<boolean>(
    `(() => { const link = document.querySelector('a[href="/dashboard/keys"]'); link?.click(); return link !== null; })()`,
  );
  await requireEnded(page, hasLeft ? "API keys" : "Deposits");
});

test("a question that is being written outlasts other pages and the end of the session, but not a sign-out", async (context) => {
  if (!dashboard().browser) return context.skip();
  const { page } = await dashboard().signedIn();
  await go(page, "Playground");
  const question = page.getByLabel("Your question");
  await question.fill("A question of many words");
  await go(page, "Models");
  await go(page, "Playground");
  expect(await question.inputValue()).toBe("A question of many words");
  await question.press("End");
  await question.pressSequentially(", and more");
  await endSession(page);
  await requireEnded(page, "Playground");
  await question.waitFor();
  expect(await question.inputValue()).toBe("A question of many words, and more");
  await page.getByRole("button", { name: /^Account/ }).click();
  await page.getByRole("menuitem", { name: "Sign out", exact: true }).click();
  await page.getByRole("button", { name: "Sign in with the development wallet" }).click();
  await page.getByRole("navigation", { name: "Pages" }).waitFor();
  expect(await page.evaluate<string>("JSON.stringify(sessionStorage)")).not.toContain("many words");
});

test("a tab follows another that signs out, in again, or in as another account", async (context) => {
  if (!dashboard().browser) return context.skip();
  const { page, faults } = await dashboard().signedIn();
  const opened = page.waitForEvent("popup");
  await page.evaluate(`void open("/dashboard/keys")`);
  const other = await opened;
  await heading(other, "API keys");
  await other.evaluate(`sessionStorage.setItem("zerograph-own:0x1:test", "1")`);
  // A request or a socket that a sign-out cuts short is an error to the browser.
  await page.getByRole("status").getByText("live", { exact: true }).waitFor();
  await page.waitForLoadState("networkidle");
  await page.getByRole("button", { name: /^Account/ }).click();
  await page.getByRole("menuitem", { name: "Sign out" }).click();
  const button = page.getByRole("button", { name: "Sign in with the development wallet" });
  await endedNotice(other).waitFor();
  expect(await other.evaluate("JSON.stringify(sessionStorage)")).not.toContain("0x1");
  // The tab that signed out says nothing.
  await button.waitFor();
  expect(await endedNotice(page).count()).toBe(0);
  await button.click();
  await heading(page, "Overview");
  await heading(other, "API keys");
  expect(faults).toEqual([]);

  const { token, account } = await signInAs(
    dashboard().product.origin,
    privateKeyToAccount(generatePrivateKey()),
  );
  await page.goto(`${dashboard().product.origin}/schema.graphql`);
  const stored = `fetch("/dashboard/session", { method: "POST", headers: { authorization: "Bearer ${token}" } })`;
  expect(await page.evaluate(`${stored}.then(({ status }) => status)`)).toBe(204);
  await page.evaluate(`new BroadcastChannel("zerograph-session-ended").postMessage("signed-in")`);
  await other.getByRole("button", { name: new RegExp(account.slice(0, 6), "i") }).waitFor();
  await heading(other, "API keys");
});

test("a sign-out that the gateway refuses is said, and can be tried again", async (context) => {
  if (!dashboard().browser) return context.skip();
  const { page } = await dashboard().signedIn();
  const signOut = async () => {
    await page.getByRole("button", { name: /^Account/ }).click();
    await page.getByRole("menuitem", { name: "Sign out" }).click();
  };
  await page.route("**/graphql", (route) => {
    if (!/mutation SignOut\b/.test(route.request().postData() ?? "")) return route.fallback();
    const error = { message: "The database is away.", extensions: { code: "unavailable" } };
    return route.fulfill({ status: 503, json: { errors: [error] } });
  });
  const cookies = async () => (await page.context().cookies()).map(({ value }) => value);
  const before = await cookies();
  await signOut();
  await page.getByText("The database is away.").waitFor();
  await heading(page, "Overview");
  expect(await cookies()).toEqual(before);
  await page.unroute("**/graphql");
  await signOut();
  await page.getByRole("button", { name: "Sign in with the development wallet" }).waitFor();
});

test("a refusal, an outage and an answer with status 500 leave the session as it is", async (context) => {
  if (!dashboard().browser) return context.skip();
  const { page } = await dashboard().signedIn();
  await go(page, "API keys");
  const sessionQueries: string[] = [];
  page.on("request", (request) => {
    const body = request.postData() ?? "";
    if (body.includes("PresentSession")) sessionQueries.push(body);
  });
  const answer = { status: 200, code: "missing_authorization" };
  await page.route("**/graphql", (route) => {
    const body = route.request().postData() ?? "";
    if (/PresentSession|query Who\b/.test(body) && answer.status === 200) return route.fallback();
    if (answer.status === 0) return route.abort();
    const { code } = answer;
    const error = { message: `Refused: ${code}.`, extensions: { code } };
    return route.fulfill({ status: answer.status, json: { errors: [error] } });
  });
  for (const [status, code, name] of [
    [200, "missing_authorization", "Deposits"],
    [200, "insufficient_scope", "Webhooks"],
    [500, "internal_error", "Jobs"],
  ] as const) {
    Object.assign(answer, { status, code });
    await linkOf(page, name).click();
    await page.getByText(`Refused: ${code}.`).first().waitFor();
  }
  // Only the first may mean that there is no session: the page queried it, and it exists.
  expect(sessionQueries.length).toBeGreaterThan(0);
  await linkOf(page, "API keys").waitFor();
  await page.unroute("**/graphql");
  await go(page, "Requests");
  expect(await endedNotice(page).count()).toBe(0);
});

test.for([
  ["accounts", "viewer"],
  ["chain", "network"],
] as const)(
  "a page that is loaded while the %s subgraph is away says so, and comes by itself when it is back",
  async ([subgraph, field], context) => {
    if (!dashboard().browser) return context.skip();
    const { page } = await dashboard().signedIn();
    await page.route("**/graphql", async (route) => {
      if (!/query Who\b/.test(route.request().postData() ?? "")) return route.fallback();
      const response = await route.fetch();
      const { data } = (await response.json()) as { data: object };
      const error = {
        message: `The ${subgraph} subgraph cannot be reached.`,
        path: [field],
        extensions: { code: "unavailable" },
      };
      return route.fulfill({ response, json: { data: { ...data, [field]: null }, errors: [error] } });
    });
    await page.goto(`${dashboard().product.origin}/dashboard/network`);
    await page.getByRole("alert").getByText(`The ${subgraph} subgraph cannot be reached.`).waitFor();
    expect(await page.getByRole("button", { name: /^Sign in/ }).count()).toBe(0);
    await page.unroute("**/graphql");
    await heading(page, "Network");
  },
);
