import { mkdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { resolve } from "node:path";
import { setTimeout } from "node:timers/promises";
import { type Browser, chromium, type Page } from "playwright-core";
import { expect, onTestFinished, TestRunner } from "vitest";
import type { OnEnd } from "../servers/database.ts";
import { findChromium } from "./find-chromium.ts";

/** How long a page is waited for, whatever the machine's load. */
export const PATIENCE_MS = 300_000;

/** Screenshots are for people, and are taken only on request: one costs as much as a run of axe. */
const SHOTS = process.env.SCREENSHOTS ? resolve(".cache/screenshots") : undefined;
/** Only violations are read, and by their HTML: reporting passes and selectors doubles the time of axe. */
const REPORT = { resultTypes: ["violations"], selectors: false };
/** No text of these pages has a pseudo-element behind it; searching for them takes half the time of the contrast rule. */
const CONFIGURE_AXE = `axe.configure({ checks: [{ id: "color-contrast", options: { ignorePseudo: true } }] })`;
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** Opens a browser, or prints that there is none and returns undefined. */
export async function openBrowser(onEnd: OnEnd): Promise<Browser | undefined> {
  let executablePath: string;
  try {
    executablePath = await findChromium();
  } catch (error) {
    const text = `!! Tests that need a browser are SKIPPED: ${String(error)}`;
    if (process.env.REQUIRE_ALL) throw new Error(text);
    console.warn(text);
    return undefined;
  }
  const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
  onEnd(() => browser.close());
  return browser;
}

/** Each request of a page is delayed by a random time of up to this many milliseconds. */
const SLOW_PAGES_MS = Number(process.env.SLOW_PAGES_MS ?? 0);

/**
 * A page that records what must not happen: errors, and requests to anywhere but `origin`. In a test, it is
 * closed when that ends, and printed if it failed.
 */
export async function openPage(
  browser: Browser,
  origin: string,
  options: Parameters<Browser["newPage"]>[0] = {},
): Promise<{ page: Page; faults: readonly string[] }> {
  const page = await browser.newPage({ viewport: { width: 1_280, height: 900 }, ...options });
  page.setDefaultTimeout(PATIENCE_MS);
  if (TestRunner.getCurrentTest())
    onTestFinished(async ({ task }) => {
      if (task.result?.state === "fail" && !page.isClosed())
        console.error(`${page.url()}\n${await page.locator("body").ariaSnapshot({ timeout: 5_000 })}`);
      await page.close();
    });
  if (SLOW_PAGES_MS > 0)
    await page.context().route("**", async (route) => {
      await setTimeout(Math.random() * SLOW_PAGES_MS);
      // The page may be closed by now.
      await route.fallback().catch(() => {});
    });
  const faults: string[] = [];
  page.on("pageerror", (error) => void faults.push(String(error)));
  page.on("console", (line) => {
    if (line.type() === "error") faults.push(line.text());
  });
  page.on("request", (request) => {
    const url = request.url();
    if (!url.startsWith(origin) && !url.startsWith("data:") && !url.startsWith("blob:")) faults.push(url);
  });
  return { page, faults };
}

/** Expects that axe finds nothing serious on the page. Saves a screenshot if SCREENSHOTS is set. */
export async function requireAccessible(page: Page, name: string): Promise<void> {
  if (SHOTS) {
    mkdirSync(SHOTS, { recursive: true });
    await page.screenshot({ path: `${SHOTS}/${name}.png`, fullPage: true });
  }
  await requireNoFinding(page, name);
}

/** Expects that axe finds nothing serious on the page, and no fault of its landmarks, which axe calls moderate; with `rules`, by these only. */
export async function requireNoFinding(page: Page, name: string, rules?: readonly string[]): Promise<void> {
  if (!(await page.evaluate("'axe' in window"))) await page.evaluate(`${axe};${CONFIGURE_AXE}`);
  const options = { ...REPORT, ...(rules && { runOnly: { type: "rule", values: rules } }) };
  const found = await page.evaluate<readonly { id: string; impact: string; nodes: readonly string[] }[]>(
    `axe.run(${JSON.stringify(options)}).then(({ violations }) => violations.map(({ id, impact, nodes }) =>
      ({ id, impact, nodes: nodes.map(({ html }) => html) })))`,
  );
  const serious = found.filter(
    ({ id, impact }) => impact === "serious" || impact === "critical" || id.startsWith("landmark-"),
  );
  expect(serious, name).toEqual([]);
}

/** The processor time that scripts of the page use on its main thread while `run` runs. Milliseconds. */
export function scriptMs(page: Page, run: () => Promise<unknown>): Promise<number> {
  return threadMs(page, ["ScriptDuration"], run);
}

/** As `scriptMs`, with what styles and layouts take. */
export function layoutAndScriptMs(page: Page, run: () => Promise<unknown>): Promise<number> {
  return threadMs(page, ["ScriptDuration", "LayoutDuration", "RecalcStyleDuration"], run);
}

/** The memory that the objects of a page take once what nothing refers to is freed. Bytes. */
export async function heapBytes(page: Page): Promise<number> {
  const session = await page.context().newCDPSession(page);
  await session.send("HeapProfiler.collectGarbage");
  const { usedSize } = await session.send("Runtime.getHeapUsage");
  await session.detach();
  return usedSize;
}

async function threadMs(page: Page, names: readonly string[], run: () => Promise<unknown>): Promise<number> {
  const session = await page.context().newCDPSession(page);
  // Thread ticks stop while other processes have the processor.
  await session.send("Performance.enable", { timeDomain: "threadTicks" });
  const spentMs = async () => {
    const { metrics } = await session.send("Performance.getMetrics");
    const values = names.map((name) => metrics.find((metric) => metric.name === name)?.value ?? Number.NaN);
    return 1_000 * values.reduce((sum, value) => sum + value, 0);
  };
  const beforeMs = await spentMs();
  await run();
  const afterMs = await spentMs();
  await session.detach();
  return afterMs - beforeMs;
}
