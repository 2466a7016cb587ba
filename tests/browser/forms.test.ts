// @module-tag large
import type { Locator, Page } from "playwright-core";
import { expect, test } from "vitest";
import { rest } from "../support/clients/rest-client.ts";
import { go, heading, useDashboard } from "./signed-in.ts";

const dashboard = useDashboard();

type ListedKey = Readonly<Record<string, unknown>> & { readonly name: string };

/** Creates a key over REST, with settings that the dashboard's form cannot all show. */
async function createKey(name: string, settings: object): Promise<void> {
  const { origin, mk } = dashboard().product;
  const { status } = await rest(origin, "/v1/api-keys", mk, { body: { name, ...settings } });
  expect(status).toBe(201);
}

/** The settings of a key over REST. */
async function settingsOf(wanted: string): Promise<Readonly<Record<string, unknown>> | undefined> {
  const { origin, mk } = dashboard().product;
  const { body } = await rest<{ readonly data: readonly ListedKey[] }>(origin, "/v1/api-keys", mk);
  const found = body.data.find(({ name }) => name === wanted);
  if (!found) return undefined;
  const { name: _, label: __, updated_at: ___, ...settings } = found;
  return settings;
}

/** Changes the name of a key in its form, and nothing else. */
async function rename(page: Page, from: string, to: string): Promise<void> {
  const dialog = page.getByRole("dialog");
  await page.getByRole("button", { name: `Edit ${from}` }).click();
  await dialog.getByLabel("Name").fill(to);
  await dialog.getByRole("button", { name: "Save" }).click();
  await dialog.waitFor({ state: "detached" });
}

test.for([
  ["Europe/Berlin", "2027-10-31T01:30:45Z", "n".repeat(100)],
  ["UTC", "2027-10-31T01:30:15.123Z", "renamed"],
] as const)(
  "in %s a key that is renamed keeps everything else exactly",
  async ([timezoneId, expiration, renamed], context) => {
    if (!dashboard().browser) return context.skip();
    const name = `${"k".repeat(80)} ${timezoneId}`;
    await createKey(name, {
      expiration,
      credit_limit: "1000000000000000.5",
      reset_period: "daily",
      max_input_tokens: 2_147_483_647,
      allowed_tools: ["a,b", "c"],
      allowed_models: ["devnet-image", "devnet-chat"],
    });
    const before = await settingsOf(name);
    expect(before).toBeDefined();
    const { page, faults } = await dashboard().signedIn({ timezoneId });
    await go(page, "API keys");
    await rename(page, name, renamed);
    expect(await settingsOf(renamed)).toEqual(before);
    expect(faults).toEqual([]);
  },
);

test("the providers that a key may use are chosen, shown by its row, and cleared", async (context) => {
  if (!dashboard().browser) return context.skip();
  await createKey("provided", {});
  const { page, faults } = await dashboard().signedIn();
  await go(page, "API keys");
  const dialog = page.getByRole("dialog");
  const edit = async (change: (provider: Locator) => Promise<void>) => {
    await page.getByRole("button", { name: "Edit provided" }).click();
    await change(
      dialog
        .getByRole("group", { name: /^Providers/ })
        .getByRole("checkbox")
        .first(),
    );
    await dialog.getByRole("button", { name: "Save" }).click();
    await dialog.waitFor({ state: "detached" });
  };
  const allowed = async () => (await settingsOf("provided"))?.allowed_providers;
  let address = "";
  await edit(async (provider) => {
    await provider.check();
    address = await provider.inputValue();
  });
  expect(address).toMatch(/^0x[0-9a-f]{40}$/);
  expect(await allowed()).toEqual([address]);
  const row = page.getByRole("row").filter({ hasText: "provided" });
  await row.getByRole("button", { name: "Rules of provided: 1" }).click();
  await page.getByText(`Only the providers ${address}`).waitFor();
  await page.keyboard.press("Escape");
  await edit((provider) => provider.uncheck());
  expect(await allowed()).toEqual([]);
  expect(faults).toEqual([]);
});

test("a signing secret that was not copied is called so, and a dialog has no banner of the page", async (context) => {
  if (!dashboard().browser) return context.skip();
  const { page, faults } = await dashboard().signedIn();
  await go(page, "Webhooks");
  await page.getByRole("button", { name: "Create a webhook" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Name").fill("secret");
  await dialog.getByLabel("URL").fill("https://example.com/events");
  await dialog.getByLabel("an sk- key was created").check();
  expect(await dialog.getByRole("banner").count()).toBe(0);
  await dialog.getByRole("button", { name: "Create", exact: true }).click();
  await dialog.getByRole("button", { name: "Done" }).click();
  await dialog.getByText("You have not copied the signing secret. Close anyway?").waitFor();
  expect(faults).toEqual([]);
});

test("Back does not lose the secret of a key that was not copied", async (context) => {
  if (!dashboard().browser) return context.skip();
  const { page, faults } = await dashboard().signedIn();
  await go(page, "API keys");
  await page.getByRole("button", { name: "Create a key" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Name").fill("kept");
  await dialog.getByRole("button", { name: "Create", exact: true }).click();
  const secret = dialog.locator("code").first();
  const text = await secret.textContent();
  await page.evaluate("history.back()");
  await dialog.getByText("You have not copied the key. Close anyway?").waitFor();
  expect(await secret.textContent()).toBe(text);
  expect(new URL(page.url()).pathname).toBe("/dashboard/keys");
  await dialog.getByRole("button", { name: "Go back" }).click();
  await dialog.getByRole("button", { name: "Copy" }).first().click();
  await page.evaluate("history.back()");
  await heading(page, "Overview");
  expect(faults).toEqual([]);
});

test("an address that is malformed shows that there is no such page", async (context) => {
  if (!dashboard().browser) return context.skip();
  const { page } = await dashboard().signedIn();
  for (const path of ["requests/%E0%A4%A", "%", "keys/%zz?all=true"]) {
    await page.goto(`${dashboard().product.origin}/dashboard/${path}`);
    await heading(page, "Page not found");
  }
});

test("a key whose expiry has a date without a time is not created, and the field says what is missing", async (context) => {
  if (!dashboard().browser) return context.skip();
  const { page, faults } = await dashboard().signedIn();
  await go(page, "API keys");
  await page.getByRole("button", { name: "Create a key" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Name").fill("expiring");
  const expires = dialog.getByLabel("Expires");
  await expires.focus();
  await page.keyboard.type("12312037");
  await dialog.getByRole("button", { name: "Create", exact: true }).click();
  await dialog.getByText("Enter the whole date and time, or clear the field.").waitFor();
  expect(await settingsOf("expiring")).toBeUndefined();
  expect(await page.evaluate("document.activeElement.name")).toBe("expiresAt");
  await page.keyboard.press("Tab");
  await page.keyboard.press("Tab");
  await page.keyboard.press("Tab");
  await page.keyboard.type("1030AM");
  await dialog.getByRole("button", { name: "Create", exact: true }).click();
  await dialog.getByText("It is shown only once.").waitFor();
  expect((await settingsOf("expiring"))?.expires_at).toMatch(/^2037-12-31T/);
  expect(faults).toEqual([]);
});

test("without the browser's clipboard, as on plain HTTP, exactly what is named is copied, or the failure is said", async (context) => {
  if (!dashboard().browser) return context.skip();
  const { page, faults } = await dashboard().signedIn();
  await page.addInitScript("Object.defineProperty(navigator, 'clipboard', { value: undefined })");
  await page.reload();
  const url = `${dashboard().product.origin}/v1`;
  const search = page.getByRole("dialog", { name: "Search" }).getByRole("combobox");
  const pasted = async () => {
    await page.keyboard.press("Control+k");
    await search.press("Control+v");
    const text = await search.inputValue();
    await page.keyboard.press("Escape");
    return text;
  };
  // Another text is selected.
  await page.getByRole("heading", { level: 1 }).dblclick();
  await page.getByRole("button", { name: `Copy ${url}` }).click();
  await page.getByRole("button", { name: "Copied", exact: true }).waitFor();
  expect(await pasted()).toBe(url);

  await page.evaluate("document.execCommand = () => false");
  const address = await page.getByRole("button", { name: /^Account/ }).innerText();
  await page.getByRole("button", { name: /^Account/ }).click();
  await page.getByRole("menuitem", { name: "Copy address" }).click();
  await page
    .getByText(new RegExp(`Copying failed. Select it here: ${address.slice(-11, -5)}`, "i"))
    .waitFor();
  expect(faults).toEqual([]);
});

test("an answer that arrives after its dialog was closed does not close another, and what is typed there stays", async (context) => {
  if (!dashboard().browser) return context.skip();
  const { page, faults } = await dashboard().signedIn();
  const dialog = page.getByRole("dialog");
  const held = Promise.withResolvers<void>();
  await page.route("**/graphql", async (route) => {
    if (!/mutation (Update|Revoke)ApiKey\b/.test(route.request().postData() ?? "")) return route.fallback();
    await held.promise;
    await route.continue();
  });
  await createKey("late", {});
  await createKey("revoked late", {});
  await go(page, "API keys");
  await page.getByRole("button", { name: "Edit late" }).click();
  await dialog.getByLabel("Name").fill("later");
  await dialog.getByRole("button", { name: "Save" }).click();
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: "Revoke revoked late" }).click();
  await dialog.getByRole("button", { name: "Revoke" }).click();
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: "Create a key" }).click();
  await dialog.getByLabel("Name").fill("typed");
  held.resolve();
  await page.getByText("revoked late is revoked.").waitFor();
  await page.getByRole("button", { name: "Edit later", includeHidden: true }).waitFor({ state: "attached" });
  expect(await dialog.getByLabel("Name").inputValue()).toBe("typed");
  expect(faults).toEqual([]);
});

// The last one: `settingsOf` reads the first page of the keys, and these fill it.
test("of many keys the newest are listed first, found by name and offered as filters", async (context) => {
  if (!dashboard().browser) return context.skip();
  for (let n = 1; n <= 101; n++) await createKey(`many ${n}`, {});
  const { page } = await dashboard().signedIn();
  await go(page, "API keys");
  const names = async () => await page.locator("tbody tr strong").allInnerTexts();
  await page.getByRole("row").filter({ hasText: "many 101" }).waitFor();
  expect((await names()).slice(0, 2)).toEqual(["many 101", "many 100"]);
  expect(await page.getByRole("button", { name: "← Newer" }).isDisabled()).toBe(true);
  await page.getByRole("button", { name: "Older →" }).click();
  await page.getByRole("row").filter({ hasText: "many 81" }).waitFor();
  expect((await names())[0]).toBe("many 81");
  await page.getByRole("button", { name: "Older →" }).click();
  await page.getByRole("row").filter({ hasText: "many 61" }).waitFor();
  await page.getByRole("button", { name: "← Newer" }).click();
  await page.getByRole("row").filter({ hasText: "many 81" }).waitFor();
  await page.getByRole("button", { name: "← Newer" }).click();
  await page.getByRole("row").filter({ hasText: "many 101" }).waitFor();
  await page.getByRole("button", { name: "← Newer" }).and(page.locator(":disabled")).waitFor();

  await page.getByRole("button", { name: /^Search/ }).click();
  await page.getByRole("dialog").getByRole("textbox").or(page.getByRole("combobox")).first().fill("many 101");
  await page.getByRole("option", { name: /many 101/ }).waitFor();
  await page.keyboard.press("Escape");
  await go(page, "Requests");
  await page
    .getByLabel("Key", { exact: true })
    .getByRole("option", { name: "many 101" })
    .waitFor({ state: "attached" });
});
