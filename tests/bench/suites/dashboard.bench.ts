import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { type Browser, chromium, type Page } from "playwright-core";
import { findChromium } from "../../support/clients/find-chromium.ts";
import { answerMany, readAll, scrollFrames } from "../../support/clients/many-requests.ts";
import type { OnEnd } from "../../support/servers/database.ts";
import { NPM_START, newFolder, startReady } from "../../support/servers/process.ts";
import { quantile } from "../load.ts";

/** What is measured of one opening of the dashboard. Times in milliseconds. */
type Figures = {
  /** As they were sent, compressed. */
  readonly scriptBytes: number;
  readonly firstPaintMs: number;
  /** Until the heading of the first page is there, which can then be used. */
  readonly usableMs: number;
  /** Of the slowest interaction: from the input until the next frame is drawn, in steps of 8 ms. */
  readonly delayMs: number;
  /** Of the frames while a list of 10,000 requests is scrolled. */
  readonly frameMs: number;
};

/** The pages that are opened in turn by their links. */
const PAGES = ["API keys", "Requests", "Providers", "Network", "API keys"];
/** Longer than anything that a click on a quiet machine starts. */
const SETTLED_MS = 500;
const SLOW_PROCESSOR = 4;
const FRAMES = 300;

/**
 * The dashboard in Chromium: its script, when its first page is drawn and usable without a cache, and the delay of
 * interactions on a fixed path, also on a processor that is four times as slow. For this checkout and others, each with
 * its own packages and a product of its own.
 *
 * @returns A table as Markdown: medians of the rounds.
 */
export async function benchDashboard(
  { rounds, checkouts }: { readonly rounds: number; readonly checkouts: readonly string[] },
  onEnd: OnEnd,
): Promise<string> {
  const browser = await chromium.launch({ executablePath: await findChromium(), args: ["--no-sandbox"] });
  onEnd(() => browser.close());
  const lines = [
    "| | script, bytes | first contentful paint, ms | usable, ms | slowest interaction, ms | frames a second, scrolling 10,000 requests | at a quarter of the speed: usable, ms | slowest interaction, ms | frames a second |",
    "|---|---:|---:|---:|---:|---:|---:|---:|---:|",
  ];
  for (const checkout of [".", ...checkouts]) {
    const origin = await startDashboard(checkout, onEnd);
    const quick: Figures[] = [];
    const slow: Figures[] = [];
    for (let round = 0; round < rounds; round++) {
      quick.push(await measure(browser, origin, 1));
      slow.push(await measure(browser, origin, SLOW_PROCESSOR));
    }
    const cells = [
      median(quick, ({ scriptBytes }) => scriptBytes).toLocaleString("en"),
      ...[
        median(quick, ({ firstPaintMs }) => firstPaintMs),
        median(quick, ({ usableMs }) => usableMs),
        median(quick, ({ delayMs }) => delayMs),
        1_000 / median(quick, ({ frameMs }) => frameMs),
        median(slow, ({ usableMs }) => usableMs),
        median(slow, ({ delayMs }) => delayMs),
        1_000 / median(slow, ({ frameMs }) => frameMs),
      ].map((figure) => figure.toFixed(0)),
    ];
    lines.push(`| ${await commitOf(checkout)} | ${cells.join(" | ")} |`);
  }
  return lines.join("\n");
}

/** Builds a checkout's dashboard and starts its product, with one request in its history. Returns its origin. */
async function startDashboard(checkout: string, onEnd: OnEnd): Promise<string> {
  await promisify(execFile)("npm", ["run", "--silent", "build:dashboard"], { cwd: checkout });
  const settings = { DATA_DIR: newFolder(onEnd) };
  const { origin, saw } = await startReady({ script: NPM_START, checkout, settings, flags: [], onEnd });
  const [, key = ""] = await saw(/sk- key, funded +(sk-\w+)/);
  const answer = await fetch(`${origin}/v1/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    body: JSON.stringify({ model: "devnet-chat", messages: [{ role: "user", content: "The sea?" }] }),
  });
  if (!answer.ok) throw new Error(`the request was answered ${answer.status}: ${await answer.text()}`);
  return origin;
}

async function measure(browser: Browser, origin: string, slowness: number): Promise<Figures> {
  const context = await browser.newContext({ viewport: { width: 1_280, height: 900 } });
  try {
    const page = await context.newPage();
    await page.goto(`${origin}/dashboard/`);
    await page.getByRole("button", { name: "Sign in with the development wallet" }).click();
    await heading(page, "Overview");
    const devtools = await context.newCDPSession(page);
    await devtools.send("Network.setCacheDisabled", { cacheDisabled: true });
    await devtools.send("Emulation.setCPUThrottlingRate", { rate: slowness });
    await page.addInitScript(
      `window.delays = []; new PerformanceObserver((list) => window.delays.push(...list.getEntries()
        .filter(({ interactionId }) => interactionId > 0).map(({ duration }) => duration)))
        .observe({ type: "event", durationThreshold: 16, buffered: true })`,
    );
    await page.goto(`${origin}/dashboard/`);
    await heading(page, "Overview");
    const usableMs = await page.evaluate<number>("performance.now()");
    await page.waitForLoadState("networkidle");
    const [scriptBytes, firstPaintMs] = await page.evaluate<[number, number]>(`[
      performance.getEntriesByType("resource").filter(({ name }) => name.endsWith(".js"))
        .reduce((sum, { encodedBodySize }) => sum + encodedBodySize, 0),
      performance.getEntriesByName("first-contentful-paint")[0].startTime]`);
    await interact(page);
    const delayMs = await page.evaluate<number>("Math.max(0, ...window.delays)");
    return { scriptBytes, firstPaintMs, usableMs, delayMs, frameMs: await scroll(page) };
  } finally {
    await context.close();
  }
}

/** Opens pages and a dialog, types into it, and opens the palette of a dashboard that has one. */
async function interact(page: Page): Promise<void> {
  for (const name of PAGES) {
    await page.getByRole("navigation", { name: "Pages" }).getByRole("link", { name, exact: true }).click();
    await heading(page, name);
    await page.waitForTimeout(SETTLED_MS);
  }
  await page.getByRole("button", { name: "Create a key" }).click();
  await page.getByRole("dialog").getByLabel("Name").fill("");
  await page.keyboard.type("a key");
  await page.keyboard.press("Escape");
  await page.waitForTimeout(SETTLED_MS);
  if (await page.getByRole("button", { name: /^Search/ }).isVisible()) {
    await page.keyboard.press("Control+k");
    await page.getByRole("dialog", { name: "Search" }).getByRole("combobox").waitFor();
    await page.keyboard.type("webhooks");
    await page.waitForTimeout(SETTLED_MS);
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "detached" });
  }
}

/** Scrolls a long list. Resolves with the time of a frame, milliseconds. */
async function scroll(page: Page): Promise<number> {
  await page.route(/\/graphql$/, answerMany);
  await page
    .getByRole("navigation", { name: "Pages" })
    .getByRole("link", { name: "Requests", exact: true })
    .click();
  await readAll(page);
  return scrollFrames(page, FRAMES);
}

async function heading(page: Page, name: string): Promise<void> {
  await page.getByRole("heading", { level: 1, name, exact: true }).waitFor();
}

async function commitOf(checkout: string): Promise<string> {
  const args = ["log", "-1", "--format=%h, %cs"];
  const { stdout } = await promisify(execFile)("git", args, { cwd: checkout });
  return stdout.trim();
}

function median(all: readonly Figures[], of: (figures: Figures) => number): number {
  return quantile(
    all.map(of).toSorted((a, b) => a - b),
    0.5,
  );
}
