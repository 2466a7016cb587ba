// @module-tag large
import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { rest } from "../support/clients/rest-client.ts";
import { go, useDashboard } from "./signed-in.ts";

const dashboard = useDashboard();

type ListedKey = Readonly<Record<string, unknown>> & { readonly name: string };

/** Creates a key over REST, with settings that the dashboard's form cannot all show. */
async function createKey(name: string, settings: object): Promise<void> {
  const { origin, mk } = dashboard().product;
  const { status } = await rest(origin, "/v1/api-keys", mk, { body: { name, ...settings } });
  expect(status).toBe(201);
}

/** The settings of a key over REST. */
async function settingsOf(wanted: string): Promise<object | undefined> {
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
