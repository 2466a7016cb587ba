// @module-tag large
import type { Locator, Page } from "playwright-core";
import { beforeAll, expect, test } from "vitest";
import type { Trace } from "../../src/inference/billing/trace.ts";
import { requireAccessible } from "../support/clients/browser.ts";
import { rest } from "../support/clients/rest-client.ts";
import { go, heading, PAGES, useDashboard } from "./signed-in.ts";

const dashboard = useDashboard();
const PHONE = { viewport: { width: 390, height: 844 }, hasTouch: true } as const;
const TOUCH_PX = 44;

let requestId: string;

beforeAll(async () => {
  const { origin, sk } = dashboard().product;
  const body = { model: "devnet-chat", messages: [{ role: "user", content: "The sea?" }] };
  const answer = await rest<{ readonly x_0g_trace: Trace }>(origin, "/v1/chat/completions", sk, { body });
  requestId = answer.body.x_0g_trace.request_id;
});

/** What is beyond the sides of the window, unless a part that scrolls by itself contains it, and tables that scroll. */
function tooWide(page: Page): Promise<readonly string[]> {
  return page.evaluate<readonly string[]>(`(() => {
    const scrolls = (element) => {
      for (let at = element.parentElement; at; at = at.parentElement) {
        if (at.matches("pre, [role=tablist], .snippet-text")) return true;
        if (getComputedStyle(at).overflowX !== "visible" && at.getBoundingClientRect().width < 3) return true;
      }
      return false;
    };
    const wide = [...document.querySelectorAll("header *, main, main *")].filter((element) => {
      const { left, right, width } = element.getBoundingClientRect();
      return width > 2 && (left < -0.5 || right > innerWidth + 0.5) && !scrolls(element);
    });
    const sideways = [...document.querySelectorAll(".scroll")].filter(
      ({ scrollWidth, clientWidth }) => scrollWidth > clientWidth,
    );
    return [...wide, ...sideways].map((element) => element.outerHTML.slice(0, 120));
  })()`);
}

/** The controls that are smaller than a finger needs. */
function tooSmall(page: Page): Promise<readonly string[]> {
  return page.evaluate<readonly string[]>(`[...document.querySelectorAll(
      "header button, main button, main select, main input:not([type=checkbox], [type=radio], [type=file])")]
    .filter((element) => element.checkVisibility())
    .map((element) => [element, element.getBoundingClientRect()])
    .filter(([, { width, height }]) => width > 2 && height < ${TOUCH_PX - 0.5})
    .map(([element, { height }]) => height + " px: " + element.outerHTML.slice(0, 120))`);
}

/** Texts that are smaller than 12 px, other than in figures of their own. */
function tooTiny(page: Page): Promise<readonly string[]> {
  return page.evaluate<readonly string[]>(`[...document.querySelectorAll("header *, main *")]
    .filter((element) => !element.closest("svg, .uplot") && element.checkVisibility())
    .filter(({ childNodes }) => [...childNodes].some((node) => node.nodeType === 3 && node.data.trim() !== ""))
    .filter((element) => Number.parseFloat(getComputedStyle(element).fontSize) < 12)
    .map((element) => element.outerHTML.slice(0, 120))`);
}

test("at the width of a phone nothing is wider than the window, every text is legible, and every control can be touched", async (context) => {
  if (!dashboard().browser) return context.skip();
  const { page, faults } = await dashboard().signedIn(PHONE);
  for (const name of ["Overview", ...PAGES, "Request"]) {
    if (name === "Request") {
      await page.goto(`${dashboard().product.origin}/dashboard/requests/${requestId}`);
      await page.getByText("Charged", { exact: true }).waitFor();
    } else if (name !== "Overview") await go(page, name);
    await expect.poll(() => page.locator(".loading").count()).toBe(0);
    expect(await tooWide(page), name).toEqual([]);
    expect(await tooSmall(page), name).toEqual([]);
    expect(await tooTiny(page), name).toEqual([]);
  }
  expect(faults).toEqual([]);
});

test("at the width of a phone a request is a card that shows its model, state and cost", async (context) => {
  if (!dashboard().browser) return context.skip();
  const { page, faults } = await dashboard().signedIn(PHONE);
  await go(page, "Requests");
  const row = page.getByRole("table").getByRole("row").nth(1);
  for (const text of ["devnet-chat", "Completed", /^\d+\.\d+$/, "demo"]) {
    const box = await row.getByRole("cell").getByText(text).first().boundingBox();
    expect(box, String(text)).not.toBeNull();
    expect((box?.x ?? 0) + (box?.width ?? 0), String(text)).toBeLessThanOrEqual(PHONE.viewport.width);
  }
  // Its order can still be chosen.
  await page.getByRole("columnheader", { name: "Cost" }).getByRole("button").tap();
  await expect.poll(() => new URL(page.url()).searchParams.get("sort")).toBe("-COST");
  await requireAccessible(page, "requests-narrow");
  await page.getByRole("table").getByRole("row").nth(1).tap();
  await heading(page, "Request");
  await page.getByText(requestId).first().waitFor();
  expect(faults).toEqual([]);
});

test.for([320, 360])("at %i px every control of the header is in the window", async (width, context) => {
  if (!dashboard().browser) return context.skip();
  const { page } = await dashboard().signedIn({ viewport: { width, height: 640 } });
  await page.getByRole("button", { name: /^Account/ }).waitFor();
  await page.getByRole("link", { name: /^Balance/ }).waitFor();
  for (const name of ["Overview", "API keys"]) {
    if (name !== "Overview") await go(page, name);
    expect(await tooWide(page), name).toEqual([]);
  }
  await page.getByRole("button", { name: /^Account/ }).click();
  await page.getByRole("menuitem", { name: "Sign out" }).waitFor();
});

/** The texts of the header that are cut, or that reach into another control of it. */
function cutInHeader(page: Page): Promise<readonly string[]> {
  return page.evaluate<readonly string[]>(`(() => {
    const shown = [...document.querySelectorAll("header.top *")].filter((element) =>
      element.checkVisibility() && element.getBoundingClientRect().width > 2);
    const cut = shown.filter((element) =>
      getComputedStyle(element).overflowX !== "visible" && element.scrollWidth > element.clientWidth);
    const balance = document.querySelector(".balance .amount").getBoundingClientRect();
    const covered = shown.filter((element) => {
      const { left, right } = element.getBoundingClientRect();
      return element.matches("button, .devnet") && left < balance.right - 0.5 && right > balance.left + 0.5;
    });
    return [...cut, ...covered].map((element) => innerWidth + " px: " + element.outerHTML.slice(0, 120));
  })()`);
}

test("at every width the header shows the whole balance, and cuts no text", async (context) => {
  if (!dashboard().browser) return context.skip();
  const { page } = await dashboard().signedIn();
  await page.getByRole("button", { name: /^Account/ }).waitFor();
  const amount = page.getByRole("link", { name: /^Balance/ }).locator(".amount");
  // A usual amount, and one of almost all tokens that 0G has.
  for (const text of ["9.96", "123456789.12"]) {
    await amount.evaluate<void, string>("(element, text) => { element.firstChild.data = text; }", text);
    for (let width = 320; width <= 1_920; width += 8) {
      await page.setViewportSize({ width, height: 700 });
      expect(await cutInHeader(page)).toEqual([]);
    }
  }
});

/** Which controls another element covers at their centre. */
async function covered(controls: readonly Locator[]): Promise<readonly string[]> {
  const found: string[] = [];
  for (const control of controls)
    found.push(
      await control.evaluate<string, undefined>(`(element) => {
        element.scrollIntoView({ block: "nearest" });
        const { x, y, width, height } = element.getBoundingClientRect();
        const top = document.elementFromPoint(x + width / 2, y + height / 2);
        return element.contains(top) ? "" : element.outerHTML.slice(0, 120);
      }`),
    );
  return found.filter(Boolean);
}

test.for([
  [320, 568],
  [640, 450],
  [1_280, 900],
] as const)(
  "at %i x %i px nothing covers the controls of the playground",
  async ([width, height], context) => {
    if (!dashboard().browser) return context.skip();
    const { page } = await dashboard().signedIn({ viewport: { width, height } });
    await go(page, "Playground");
    const controls = ["Compare", "View code", "Image", ...(width < 1_200 ? ["Parameters"] : [])].map((name) =>
      page.getByRole("button", { name }),
    );
    const model = page.getByLabel("Model", { exact: true });
    await model.waitFor();
    expect(await covered([model, ...controls])).toEqual([]);
  },
);

type Created = { readonly key: string };

/** A name as long as it may be, without a place to break it. */
const LONG = "n".repeat(100);

test.for([
  { width: 320, height: 640 },
  { width: 1_280, height: 900 },
])(
  "at $width px the longest names stay in their places, and the columns beside them in view",
  async (viewport, context) => {
    if (!dashboard().browser) return context.skip();
    const { origin, mk } = dashboard().product;
    const tag = { name: "t".repeat(64), value: `${viewport.width}${"v".repeat(512)}`.slice(0, 512) };
    const created = async (path: string, body: object) => {
      const answer = await rest<Created>(origin, path, mk, { body });
      expect(answer.status, `${path} ${JSON.stringify(answer.body)}`).toBeLessThan(300);
      return answer.body;
    };
    const name = `${viewport.width}${LONG}`.slice(0, 100);
    const { key } = await created("/v1/api-keys", { name });
    await created("/v1/webhooks", { name, url: `https://example.com/${LONG}`, events: ["job.ended"] });
    await created("/v1/tag-budgets", { ...tag, credit_limit: "1", reset_period: "daily" });
    const asked = { model: "devnet-chat", messages: [{ role: "user", content: "The sea?" }] };
    const headers = { "x-tag": `${tag.name}=${tag.value}` };
    const answer = await rest<{ readonly x_0g_trace: Trace }>(origin, "/v1/chat/completions", key, {
      body: asked,
      headers,
    });
    const { page } = await dashboard().signedIn({ viewport });
    for (const path of [
      "",
      "keys",
      "webhooks",
      "tags",
      "requests",
      `requests/${answer.body.x_0g_trace.request_id}`,
    ]) {
      await page.goto(`${origin}/dashboard/${path}`);
      await page
        .getByText(path === "" ? "devnet-chat" : path === "tags" ? tag.name : name)
        .filter({ visible: true })
        .first()
        .waitFor();
      await expect.poll(() => page.locator(".loading").count()).toBe(0);
      expect(await tooWide(page), path).toEqual([]);
    }
    await page.goto(`${origin}/dashboard/webhooks`);
    for (const [opener, title] of [
      ["Edit", `Edit ${name}`],
      ["Delete", `Delete ${name}?`],
    ] as const) {
      const card = page.getByRole("region", { name });
      await card.getByRole("button", { name: opener }).click();
      const heading = page.getByRole("dialog").getByRole("heading", { name: title });
      const box = await heading.boundingBox();
      expect((box?.x ?? 0) + (box?.width ?? Number.NaN), title).toBeLessThanOrEqual(viewport.width);
      await page.keyboard.press("Escape");
      await page.getByRole("dialog").waitFor({ state: "detached" });
    }
  },
);

test("with the text spacing of WCAG 1.4.12 no text of a button is cut", async (context) => {
  if (!dashboard().browser) return context.skip();
  const { page } = await dashboard().signedIn({ viewport: { width: 320, height: 640 } });
  await page.evaluate(`(() => {
    const sheet = new CSSStyleSheet();
    sheet.replaceSync("* { line-height: 1.5 !important; letter-spacing: 0.12em !important; word-spacing: 0.16em !important }");
    document.adoptedStyleSheets.push(sheet);
  })()`);
  for (const name of PAGES) {
    await go(page, name);
    await expect.poll(() => page.locator(".loading").count()).toBe(0);
    const cut = await page.evaluate<
      readonly string[]
    >(`[...document.querySelectorAll("main button, main button *")]
      .filter((element) => element.checkVisibility() && element.getBoundingClientRect().width > 2)
      .filter(({ scrollWidth, clientWidth, scrollHeight, clientHeight }) => clientWidth > 0 &&
        (scrollWidth > clientWidth + 1 || scrollHeight > clientHeight + 2))
      .map((element) => element.outerHTML.slice(0, 160))`);
    expect(cut, name).toEqual([]);
  }
});

test("the button that copies code is beside it, at every width", async (context) => {
  if (!dashboard().browser) return context.skip();
  for (const width of [390, 1_280]) {
    const { page } = await dashboard().signedIn({ viewport: { width, height: 844 } });
    await page.goto(`${dashboard().product.origin}/dashboard/requests/${requestId}`);
    const code = await page.getByRole("region", { name: "Command" }).boundingBox();
    const receipt = page.getByRole("region", { name: "Receipt", exact: true });
    const copy = await receipt.getByRole("button", { name: "Copy" }).boundingBox();
    if (!code || !copy) throw new Error("the command is not shown");
    expect(copy.y + copy.height).toBeLessThanOrEqual(code.y + 0.5);
  }
});
