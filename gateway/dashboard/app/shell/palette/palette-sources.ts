import { useEffect, useState } from "react";
import type { Found } from "../routes/page.ts";
import { PAGES } from "../routes/pages.ts";

const PAUSE_MS = 150;
const MIN_LENGTH = 2;

type Source = Pick<(typeof PAGES)[number], "find"> & { readonly name: string };

/** The pages, and the REST reference. */
const SOURCES: readonly Source[] = [
  ...PAGES,
  { name: "REST reference", find: async () => (await import("./find-operations.ts")).findOperations },
];

/** What one page found. */
type FoundGroup = { readonly heading: string; readonly items: readonly Found[] };

/** What the pages find for a text (`find` of `definePage`), a moment after it was typed. */
export function useFound(text: string): readonly FoundGroup[] {
  const [found, setFound] = useState<readonly FoundGroup[]>([]);
  useEffect(() => {
    setFound([]);
    if (text.length < MIN_LENGTH) return;
    const abort = new AbortController();
    const search = async ({ name, find }: Source) => {
      // A source that fails finds nothing: the palette still has the others.
      const items = await find?.()
        .then((findIn) => findIn(text, abort.signal))
        .catch(() => []);
      if (!items || items.length === 0 || abort.signal.aborted) return;
      setFound((groups) => [...groups, { heading: name, items }]);
    };
    const timer = setTimeout(() => {
      for (const source of SOURCES) void search(source);
    }, PAUSE_MS);
    return () => {
      clearTimeout(timer);
      abort.abort();
    };
  }, [text]);
  return found;
}
