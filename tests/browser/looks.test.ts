// @module-tag large
import { randomBytes } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { DEMO_USER } from "../../src/devnet/chain/accounts.ts";
import { makeSampleTraffic } from "../pictures/sample-traffic.ts";
import { openPage, requireNoFinding } from "../support/clients/browser.ts";
import type { OnEnd } from "../support/servers/database.ts";
import { newFolder } from "../support/servers/process.ts";
import { writeKeys } from "./kv-writes.ts";
import { type Answer, type Look, looksOf, REASON } from "./looks.ts";
import { useDashboard } from "./signed-in.ts";

/** The colours change on an open page; what is shown on a phone depends on its width from the start. */
const VARIANTS = [
  { variant: "wide, light and dark", options: {}, schemes: ["light", "dark"] },
  { variant: "narrow", options: { viewport: { width: 390, height: 844 } }, schemes: ["light"] },
] as const;
/** The queries of the frame around the pages, which are always answered. */
const FRAME = /query (Who|TokenPrice)\b/;
/** Written by the browser for each answer that a state makes fail. */
const FAILED_LOAD = /Failed to load resource|WebSocket connection/;
const RUNNING_TRANSITIONS =
  "document.getAnimations().filter((animation) => animation instanceof CSSTransition).length";
/** The names of the states, which are known before what is shown in them. */
const NAMES = looksOf({ requestId: "", jobId: "", batchId: "", token: "/", stream: "", folder: "" }).map(
  ({ name }) => name,
);

const dashboard = useDashboard({ TOKEN_USD: "0.85", OPERATORS: DEMO_USER.address, STATUS_PAGE: "on" });
const ends: Parameters<OnEnd>[0][] = [];
let looks: readonly Look[] = [];

beforeAll(async () => {
  const { product } = dashboard();
  const stream = `0x${randomBytes(32).toString("hex")}`;
  const folder = newFolder((end) => void ends.push(end));
  mkdirSync(join(folder, "b"));
  writeFileSync(join(folder, `${"long-".repeat(20)}.bin`), randomBytes(300_000));
  writeFileSync(join(folder, "b/c.txt"), "c");
  const [sample] = await Promise.all([
    makeSampleTraffic(product),
    writeKeys(product.origin, stream, [{ keyText: "a key that is long ".repeat(9), text: "v".repeat(900) }]),
  ]);
  looks = looksOf({ ...sample, stream, folder });
});
afterAll(async () => {
  for (const end of ends) await end();
});

describe.for(VARIANTS)("$variant", ({ options, schemes }) => {
  let opened: Awaited<ReturnType<typeof openPage>> | undefined;
  beforeAll(async () => {
    // Without transitions, in which contrasts are lower.
    if (dashboard().browser) opened = await dashboard().signedIn({ ...options, reducedMotion: "reduce" });
  });

  test.for(NAMES)(
    "%s: no serious finding of accessibility, and no horizontal scrolling",
    async (name, context) => {
      if (!opened) return context.skip();
      const look = looks[NAMES.indexOf(name)];
      if (!look) throw new Error(`there is no ${name}`);
      const { page } = opened;
      if (look.answer) await answerWith(page, look.answer);
      try {
        await page.goto(`${dashboard().product.origin}${look.path}`);
        await requireGoodLook(page, look, schemes);
      } finally {
        await page.unrouteAll({ behavior: "ignoreErrors" });
        await page.context().setOffline(false);
      }
      expect(opened.faults.filter((fault) => !FAILED_LOAD.test(fault))).toEqual([]);
    },
  );

  test("signing in: no serious finding of accessibility, and no horizontal scrolling", async (context) => {
    const { browser, product } = dashboard();
    if (!browser) return context.skip();
    const { page } = await openPage(browser, product.origin, options);
    await page.goto(`${product.origin}/dashboard/`);
    await page.getByRole("button", { name: "Sign in with the development wallet" }).waitFor();
    await requireGoodLook(page, { name: "sign in", path: "/" }, schemes);
  });
});

/** Waits until a state is shown, and expects no serious finding of axe and no horizontal scrolling in each colour scheme. */
async function requireGoodLook(
  page: Page,
  { name, answer, open }: Look,
  schemes: readonly ("light" | "dark")[],
): Promise<void> {
  await page.getByRole("heading", { level: 1 }).waitFor();
  if (!answer) await expect.poll(() => page.locator(".loading, [aria-busy=true]").count()).toBe(0);
  await open?.(page);
  for (const colorScheme of schemes) {
    await page.emulateMedia({ colorScheme });
    // The status page has no theme that scripts set.
    await page
      .locator(`html[data-mantine-color-scheme=${colorScheme}], html:not([data-mantine-color-scheme])`)
      .waitFor();
    // While colours change, contrasts are lower.
    await expect.poll(() => page.evaluate<number>(RUNNING_TRANSITIONS)).toBe(0);
    // Another scheme changes nothing but colours.
    const rules = colorScheme === schemes[0] ? undefined : ["color-contrast"];
    await requireNoFinding(page, `${name}, ${colorScheme}`, rules);
  }
  await page.emulateMedia({ colorScheme: schemes[0] ?? "light" });
  const beyond = await page.evaluate<number>("document.documentElement.scrollWidth - innerWidth");
  expect(beyond, "pixels beyond the window").toBeLessThanOrEqual(0);
}

/** Answers the queries of the pages that are opened next. */
function answerWith(page: Page, answer: Answer): Promise<unknown> {
  return page.route(/\/graphql$/, async (route) => {
    if (FRAME.test(route.request().postData() ?? "")) return route.continue();
    if (answer === "loading") return;
    if (answer === "empty") {
      // The gateway may close a connection that it kept open just as it is used again.
      const response = await route.fetch({ maxRetries: 3 });
      const text = JSON.stringify(await response.json(), (key, value) => (key === "nodes" ? [] : value));
      return route.fulfill({ response, body: text });
    }
    const code = answer === "refused" ? "insufficient_scope" : "unavailable";
    return route.fulfill({ json: { errors: [{ message: REASON, extensions: { code } }] } });
  });
}
