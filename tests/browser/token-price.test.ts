// @module-tag large
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, test } from "vitest";
import { useDashboard } from "./signed-in.ts";

const folder = mkdtempSync(join(tmpdir(), "zerograph-token-price-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** More free models than a page of the graph has by default, before all others in the order of ids. */
const providersFile = join(folder, "providers.json");
const models = Array.from({ length: 21 }, (_, n) => ({
  id: `a-free-model-${n}`,
  pricing: { prompt: "0", completion: "0" },
}));
const free = { name: "free", url: "http://127.0.0.1:9/v1", models };
writeFileSync(providersFile, JSON.stringify({ providers: [free] }));

const dashboard = useDashboard({ TOKEN_USD: "0.85", PROVIDERS_FILE: providersFile });

test("amounts are shown in dollars, too, however many models are free", async (context) => {
  if (!dashboard().browser) return context.skip();
  const { page } = await dashboard().signedIn();
  await page.getByText(/^1 \S+ = \$0\.85/).waitFor();
});
