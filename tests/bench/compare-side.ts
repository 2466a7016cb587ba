import { on } from "node:events";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { cpuMs } from "./cpu-time.ts";

/**
 * One side of `compare.ts`, in its own process, whose working directory is the checkout to measure: starts the product
 * of that checkout with its own helpers, then puts load on it for as many milliseconds as each message says.
 */
const [connections = "16", kind] = process.argv.slice(2);
const bench = (file: string) => import(pathToFileURL(join(process.cwd(), "tests/bench", file)).href);

const { buildBench } = (await bench("build.ts")) as typeof import("./build.ts");
const { withEnds } = (await bench("ends.ts")) as typeof import("./ends.ts");
const { runLoad } = (await bench("load.ts")) as typeof import("./load.ts");
const { chatBody } = (await bench("scenario.ts")) as typeof import("./scenario.ts");
const { openMarket, openProduct } = (await bench("world.ts")) as typeof import("./world.ts");

await buildBench();
await withEnds(async (onEnd) => {
  const market = await openMarket(onEnd);
  const product = await openProduct("server", market, onEnd);
  const isStream = kind === "--stream";
  const body = chatBody({ stream: isStream, maxTokens: isStream ? 64 : 16 });
  market.behave(isStream ? { chunkDelayMs: 1 } : {});
  const load = (durationMs: number) =>
    runLoad(product.one, { body, connections: Number(connections), durationMs });
  const gateway = [product.process.process.pid ?? 0];
  await load(5_000);
  process.send?.("ready");
  for await (const durationMs of orders()) {
    const before = cpuMs(gateway);
    const { requests, perSecond } = await load(durationMs);
    process.send?.({ perSecond, cpuMs: (cpuMs(gateway) - before) / requests });
  }
});

/** How long to load each time, milliseconds, until the other process disconnects. */
async function* orders(): AsyncGenerator<number> {
  const ended = new AbortController();
  process.once("disconnect", () => ended.abort());
  try {
    for await (const [durationMs] of on(process, "message", { signal: ended.signal }))
      yield Number(durationMs);
  } catch (error) {
    if (!ended.signal.aborted) throw error;
  }
}
