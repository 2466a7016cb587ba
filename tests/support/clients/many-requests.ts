import type { Page, Route } from "playwright-core";
import { until } from "../until.ts";

const MANY = 10_000;
/** Two rows of the list, and a part of the next. */
const STEP_PX = 90;

/** Answers the list of requests on the dashboard as an account with 10,000 of them has it, page by page. */
export function answerMany(route: Route): Promise<void> {
  return answerRows(route, MANY);
}

/** The same of an account with so many; each row has a text of so many characters that nothing shows. */
export function answerRows(route: Route, count: number, padding = 0): Promise<void> {
  const { operationName, variables } = route.request().postDataJSON();
  if (operationName !== "Requests") return route.continue();
  const from = Number(variables.after ?? 0);
  const until = Math.min(count, from + variables.first);
  const nodes = Array.from({ length: until - from }, (_, k) => ({
    requestId: `req-${from + k}`,
    createdAt: new Date(Date.now() - (from + k) * 1_000).toISOString(),
    modelId: "devnet-chat",
    providerAddress: `0x${String(from + k).padStart(40, "0")}`,
    status: k % 9 === 0 ? "FAILED" : "COMPLETED",
    errorCode: k % 9 === 0 ? "upstream_error" : null,
    serviceType: "CHATBOT",
    inputTokens: from + k,
    outputTokens: k,
    cachedTokens: 0,
    cost: { total: String(1_000_000_000_000 * (k + 1)) },
    timing: { firstByteMs: 12, durationMs: 40 },
    apiKey: { name: "demo" },
    evidence: null,
    tags: [],
    ...(padding > 0 && { padding: String(from + k).padEnd(padding, ".") }),
  }));
  const pageInfo = { hasNextPage: until < count, endCursor: String(until) };
  const requests = {
    nodes,
    pageInfo,
    ...(variables.isFirst && { totalCount: count, totalCountEstimated: false }),
  };
  return route.fulfill({ json: { data: { viewer: { account: { requests } } } } });
}

/** Scrolls the list to its end until all pages are read. */
export async function readAll(page: Page): Promise<void> {
  const scroller = page.getByRole("region", { name: "Requests" });
  const table = page.getByRole("table");
  await until(async () => {
    await scroller.evaluate((element) => element.scrollTo(0, element.scrollHeight));
    return (await table.getAttribute("aria-rowcount")) === String(MANY + 1);
  });
}

/** Scrolls the list on before each of so many frames. Resolves with the time of a frame, milliseconds. */
export function scrollFrames(page: Page, frames: number): Promise<number> {
  return page.evaluate<number>(`(async () => {
    const element = document.querySelector('section[aria-label="Requests"]');
    const frame = () => new Promise((resolve) => requestAnimationFrame(resolve));
    element.scrollTo(0, 0);
    await frame();
    const began = performance.now();
    for (let n = 0; n < ${frames}; n++) {
      element.scrollBy(0, ${STEP_PX});
      await frame();
    }
    return (performance.now() - began) / ${frames};
  })()`);
}
