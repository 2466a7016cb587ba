import { mkdirSync, writeFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import type { Browser, Page } from "playwright-core";
import { beforeAll, expect, test } from "vitest";
import { DEMO_USER } from "../../src/devnet/chain/accounts.ts";
import { go, heading, useDashboard } from "../browser/signed-in.ts";
import { until } from "../support/until.ts";
import { drawSheet, type Picture } from "./contact-sheet.ts";
import { shownPages } from "./pages.ts";
import { record } from "./recorder.ts";
import { makeSampleTraffic, type Sample } from "./sample-traffic.ts";

const FOLDER = "docs/dashboard";
/** Each page by itself, to look at closely. */
const SINGLES = ".cache/pictures";
const VARIANTS = [
  {
    name: "light",
    colorScheme: "light",
    viewport: { width: 1_280, height: 900 },
    columns: 4,
    columnWidth: 480,
  },
  {
    name: "dark",
    colorScheme: "dark",
    viewport: { width: 1_280, height: 900 },
    columns: 4,
    columnWidth: 480,
  },
  {
    name: "narrow",
    colorScheme: "light",
    viewport: { width: 390, height: 844 },
    columns: 7,
    columnWidth: 272,
  },
] as const;
/** How long a viewer looks at a step. */
const LOOK_MS = 1_200;

const dashboard = useDashboard({ TOKEN_USD: "0.85", OPERATORS: DEMO_USER.address, STATUS_PAGE: "on" });
let sample: Sample;

beforeAll(async () => {
  sample = await makeSampleTraffic(dashboard().product);
  mkdirSync(FOLDER, { recursive: true });
});

/** Waits until a page has loaded what it shows. */
async function settled(page: Page): Promise<void> {
  await page.getByRole("heading", { level: 1 }).waitFor();
  await page.waitForLoadState("networkidle").catch(() => {});
  await until(async () => expect(await page.locator("[aria-busy=true]").count()).toBe(0));
  await page.evaluate("document.fonts.ready");
}

test.each(VARIANTS)(
  "the pages are drawn: $name",
  async ({ name: variant, colorScheme, viewport, ...layout }) => {
    const browser = dashboard().browser as Browser;
    const { page } = await dashboard().signedIn({ colorScheme, viewport });
    const { origin } = dashboard().product;
    const pictures: Picture[] = [];
    for (const { name, path } of shownPages(sample)) {
      await page.goto(`${origin}/dashboard${path}`);
      await settled(page);
      pictures.push({ name, png: await page.screenshot() });
      await page.screenshot({
        path: `${SINGLES}/${variant}/${name.replaceAll(/\W+/g, "-")}.png`,
        fullPage: true,
      });
      if (path === "/" && colorScheme === "light" && viewport.width > 1_000)
        writeFileSync("docs/dashboard.png", pictures.at(-1)?.png ?? "");
    }
    await page.goto(`${origin}/status`);
    await page.getByRole("heading", { level: 1 }).waitFor();
    pictures.push({ name: "Status page", png: await page.screenshot() });
    const signedOut = await browser.newPage({ colorScheme, viewport });
    await signedOut.goto(`${origin}/dashboard/`);
    await settled(signedOut);
    pictures.push({ name: "Sign in", png: await signedOut.screenshot() });
    const title = `The dashboard, ${variant}`;
    const sheet = await drawSheet(browser, title, pictures, { ...layout, isDark: colorScheme === "dark" });
    writeFileSync(`${FOLDER}/${variant}.jpg`, sheet);
  },
);

test("a recording of the main job is made", async () => {
  const browser = dashboard().browser as Browser;
  const { page } = await dashboard().signedIn({ viewport: { width: 1_280, height: 800 } });
  await settled(page);
  const recording = await record(browser, page);
  await sleep(2 * LOOK_MS);
  await go(page, "Playground");
  await page.getByLabel("Your question").pressSequentially("Why is the sea salty?", { delay: 40 });
  await page.keyboard.press("Control+Enter");
  await page
    .getByText(/tokens in/)
    .first()
    .waitFor();
  await sleep(LOOK_MS);
  await go(page, "Requests");
  await page.getByRole("row").nth(1).waitFor();
  await sleep(LOOK_MS);
  await page.getByRole("row").nth(1).getByRole("link").first().click();
  await heading(page, "Request");
  await sleep(LOOK_MS);
  await page.mouse.wheel(0, 500);
  await sleep(LOOK_MS);
  await page.keyboard.press("Control+k");
  await page.getByRole("dialog", { name: "Search" }).getByRole("combobox").waitFor();
  await page.keyboard.type("models", { delay: 60 });
  await sleep(LOOK_MS / 2);
  await page.keyboard.press("Enter");
  await heading(page, "Models");
  await sleep(LOOK_MS);
  await go(page, "API keys");
  await sleep(2 * LOOK_MS);
  const video = await recording.stop();
  expect(video.length).toBeGreaterThan(100_000);
  writeFileSync(`${FOLDER}/recording.webm`, video);
});
