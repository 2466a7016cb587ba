import { readFileSync } from "node:fs";
import OpenAI from "openai";
import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { openBrowser, openPage, requireAccessible } from "../support/clients/browser.ts";
import { ask } from "../support/clients/graph-client.ts";
import type { OnEnd } from "../support/servers/database.ts";
import { startPartsGate } from "./parts-gate.ts";
import type { Product } from "./product.ts";
import { serveExample } from "./serve-example.ts";

const EXAMPLES = ["apollo-requests", "urql-requests", "relay-requests"];
const PAGE_SIZE = 5;
const CHAT = "devnet-chat";
const EMBEDDING = "devnet-embedding";

/** The guarantees of the same page in Apollo Client, urql and Relay, on a running product. */
export function testRequestsPages(started: () => Product): void {
  test.for(EXAMPLES)(
    "%s shows what is not deferred first, filters and pages its list on the server, and follows the balance through a cut",
    async (name, context) => {
      const onEnd: OnEnd = (end) => context.onTestFinished(end);
      const browser = await openBrowser(onEnd);
      if (!browser) return context.skip();
      const { origin: target, mk } = started();
      const { chat, embed } = openModels(started());
      await Promise.all([embed(), ...Array.from({ length: 2 * PAGE_SIZE }, chat)]);

      const gate = await startPartsGate(target, onEnd);
      const { origin, text, breakSockets } = await serveExample(
        name,
        { origin: gate.origin, key: mk },
        onEnd,
      );
      expect(text.includes(mk)).toBe(false);
      const { page, faults } = await openPage(browser, origin);
      const sent = variablesOf(page);
      const { rows, ids, untilCount, more, fact } = partsOf(page);

      // What follows the first part is held: all is shown but what is on the chain.
      const release = gate.hold();
      await page.goto(origin);
      await untilCount(PAGE_SIZE);
      await fact("Available").getByText(/^\d+$/).waitFor();
      await expect.poll(gate.held).toBe(1);
      expect(await fact("On chain").textContent()).toBe("…");
      release();
      await fact("On chain")
        .getByText(/^\d+ in the market, \d+ in the ledger$/)
        .waitFor();

      const first = await ids();
      await more.click();
      await untilCount(2 * PAGE_SIZE);
      const both = await ids();
      expect(both.slice(0, PAGE_SIZE)).toEqual(first);
      expect(new Set(both).size).toBe(2 * PAGE_SIZE);
      expect(sent.at(-1)?.after).toEqual(expect.any(String));

      const filter = { statuses: ["COMPLETED"], modelId: EMBEDDING };
      await page.getByLabel("Status").selectOption("COMPLETED");
      await page.getByLabel("Model").fill(EMBEDDING);
      await page.getByRole("button", { name: "Filter" }).click();
      await rows.first().getByText(EMBEDDING).waitFor();
      await untilCount(Math.min(PAGE_SIZE, await countOf(started(), filter)));
      expect(sent.at(-1)).toMatchObject(filter);
      for (const row of await rows.allTextContents()) expect(row).toContain(`${EMBEDDING}completed`);

      // The live row continues after the cursor of its last event.
      const before = await fact("Available").textContent();
      await breakSockets();
      await chat();
      await fact("Latest charge")
        .getByText(new RegExp(`^[1-9]\\d* for ${CHAT}$`))
        .waitFor();
      await expect.poll(() => fact("Available").textContent()).not.toBe(before);
      await requireAccessible(page, name);
      expect(faults.filter((fault) => !/WebSocket/.test(fault))).toEqual([]);
    },
  );

  test.each(["view.tsx", "style.css"])("%s is the same in each of them", (file) => {
    const texts = EXAMPLES.map((name) => readFileSync(`examples/${name}/src/${file}`, "utf8"));
    expect(new Set(texts).size).toBe(1);
  });
}

/** Calls of models, which the page lists. */
function openModels({ origin, sk }: Product) {
  const openai = new OpenAI({ baseURL: `${origin}/v1`, apiKey: sk });
  return {
    chat: () =>
      openai.chat.completions.create({ model: CHAT, messages: [{ role: "user", content: "The sea?" }] }),
    embed: () => openai.embeddings.create({ model: EMBEDDING, input: "the sea" }),
  };
}

/** What a page has. */
function partsOf(page: Page) {
  const rows = page.locator("tbody tr");
  return {
    rows,
    ids: () => rows.evaluateAll((list) => list.map(({ id }) => id)),
    untilCount: (count: number) => expect.poll(() => rows.count()).toBe(count),
    more: page.getByRole("button", { name: "Load more" }),
    fact: (name: string) => page.getByLabel(name),
  };
}

/** The variables of the operations that a page sends over HTTP. */
function variablesOf(page: Page): readonly Readonly<Record<string, unknown>>[] {
  const sent: Record<string, unknown>[] = [];
  page.on("request", (request) => {
    if (request.method() === "POST") sent.push(request.postDataJSON().variables);
  });
  return sent;
}

/** How many requests of the account match a filter. */
async function countOf({ origin, mk }: Product, filter: object): Promise<number> {
  const query = `query ($filter: RequestFilterInput) {
    viewer { account { requests(first: 1, filter: $filter) { totalCount } } } }`;
  const { data } = await ask(origin, mk, query, { filter });
  return data.viewer.account.requests.totalCount;
}
