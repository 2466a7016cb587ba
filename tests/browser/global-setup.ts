import type { TestProject } from "vitest/node";
import { newFolder, startReady } from "../support/process.ts";

declare module "vitest" {
  interface ProvidedContext {
    product: { readonly origin: string; readonly sk: string; readonly mk: string };
  }
}

/** Starts one product, as `npm start` does, for all tests of pages and examples, and hands on what its banner tells. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const ends: (() => Promise<void>)[] = [];
  const onEnd = (end: () => Promise<void>) => void ends.unshift(end);
  const stop = async () => {
    for (const end of ends) await end();
  };
  try {
    const { origin, saw } = await startReady({ settings: { DATA_DIR: newFolder(onEnd) }, onEnd });
    const [, sk = ""] = await saw(/sk- key, funded +(sk-\w+)/);
    const [, mk = ""] = await saw(/mk- key +(mk-\w+)/);
    project.provide("product", { origin, sk, mk });
  } catch (error) {
    await stop();
    throw error;
  }
  return stop;
}
