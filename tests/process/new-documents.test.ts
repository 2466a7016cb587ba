// @module-tag large
import { expect, onTestFinished, test } from "vitest";
import { connectInspector, readLiveHeap } from "../bench/inspector.ts";
import { newFolder, startReady } from "../support/servers/process.ts";

const DOCUMENTS = 1_500;
const AT_ONCE = 8;
const MIB = 1_048_576;

/** Another number makes another document, also for two of the subgraphs. */
const page = (n: number) => `query Page${n} {
  models(first: 3) { nodes { id name pricing { input output } providers { address trustMode health { circuit } } } }
  again${n}: models(first: 2) { nodes { id name serviceType } }
  network${n}: network { id chainId head { number } }
}`;

test("documents that come once leave little in memory, whatever they ask of every subgraph", async () => {
  const started = await startReady({
    settings: { DATA_DIR: newFolder(), RATE_LIMIT_PER_ADDRESS: "0" },
    flags: ["--inspect=127.0.0.1:0"],
  });
  const [, place = ""] = /Debugger listening on (ws:\S+)/.exec(started.stderr()) ?? [];
  const engine = await connectInspector(place);
  onTestFinished(() => engine.close());
  const load = async (from: number, to: number) => {
    let next = from;
    const turns = Array.from({ length: AT_ONCE }, async () => {
      while (next < to) await ask(started.origin, page(next++));
    });
    await Promise.all(turns);
  };
  // Code is loaded and compiled, and the first documents are cached.
  await load(0, 300);
  const before = await readLiveHeap(engine);
  await load(300, 300 + DOCUMENTS);
  expect(((await readLiveHeap(engine)) - before) / MIB).toBeLessThan(30);
});

async function ask(origin: string, query: string): Promise<void> {
  const response = await fetch(`${origin}/graphql`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ query }),
  });
  expect(await response.json()).not.toHaveProperty("errors");
}
